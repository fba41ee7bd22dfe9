// Methods and compiled code of a Java virtual machine: where they are, and how another one at the
// same address is recognised. All of it may be garbage.
// `Reader`: as in java_frames.h.
// Context: signal handler or control thread.  Allocates: never.  Errno: kept.
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "common/core/signal_safe.h"
#include "preload/runtimes/java/java_layout.h"

namespace swipr::runtimes {

inline constexpr unsigned kMaxJavaHops = 1024;  // to the begin of a code blob

struct JavaMethod {
  std::uint64_t description = 0;  // its ConstMethod
  std::uint64_t pool = 0;
  std::uint64_t fingerprint = 0;
  Range<std::uint64_t> bytecode;
};

// What a method hardly shares with a later one at its address. False: no method is there.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_java_method(const JavaRuntime& java, Reader& reader,
                                        std::uint64_t method, JavaMethod& out) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  const JavaLayout& layout = java.layout;
  std::uint32_t words = 0;
  std::uint16_t bytes = 0;
  std::uint16_t name = 0;
  if (method == 0 || method % 8 != 0 ||
      !reader.read_value(method + layout.method_const, out.description) || out.description == 0 ||
      out.description % 8 != 0 ||
      !reader.read_value(out.description + layout.const_pool, out.pool) ||
      !reader.read_value(out.description + layout.const_words, words) ||
      !reader.read_value(out.description + layout.const_code_bytes, bytes) ||
      !reader.read_value(out.description + layout.const_name, name)) {
    return false;
  }
  const std::uint64_t begin = out.description + layout.const_bytes;
  out.bytecode = {begin, begin + bytes};
  out.fingerprint = out.description * kOdd ^ out.pool;
  out.fingerprint =
      out.fingerprint * kOdd ^ (std::uint64_t{words} << 32 | std::uint64_t{bytes} << 16 | name);
  return out.pool != 0 && out.pool % 8 == 0 &&
         std::uint64_t{words} * 8 >= std::uint64_t{layout.const_bytes} + bytes;
}

// The compiled or generated code at a pc.
struct JavaBlob {
  std::uint64_t address = 0;
  std::uint64_t code = 0;
  std::uint32_t frame_words = 0;
  std::uint32_t frame_complete = 0;  // from `code` on; 0: at once
  bool is_method = false;
};

// The address of the code blob at a pc; 0: none is there.
template <typename Reader>
SWIPR_SIGNAL_SAFE std::uint64_t find_java_blob(const JavaRuntime& java, Reader& reader,
                                               std::uint64_t pc) noexcept {
  constexpr std::uint8_t kFree = 0xff;
  for (const JavaCodeHeap& heap : java.heaps) {
    if (!heap.memory.contains(pc)) continue;
    // A byte of each segment: how many segments before it the blob or the next such byte is.
    std::uint64_t index = (pc - heap.memory.begin) >> java.segment_shift;
    for (unsigned hop = 0; hop < kMaxJavaHops; ++hop) {
      std::uint8_t back = 0;
      if (!reader.read_value(heap.segment_map + index, back) || back == kFree || back > index) {
        return 0;
      }
      if (back != 0) {
        index -= back;
        continue;
      }
      const std::uint64_t block = heap.memory.begin + (index << java.segment_shift);
      std::uint8_t is_used = 0;
      const bool is_blob =
          reader.read_value(block + java.layout.block_is_used, is_used) && is_used != 0;
      return is_blob ? block + ((java.layout.block_bytes + 7u) & ~7u) : 0;
    }
    return 0;
  }
  return 0;
}

template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_java_code_begin(const JavaRuntime& java, Reader& reader,
                                            std::uint64_t blob, std::uint64_t& out) noexcept {
  const JavaLayout& layout = java.layout;
  if (layout.blob_code_begin != kNoJavaField) {
    return reader.read_value(blob + layout.blob_code_begin, out);
  }
  std::uint32_t offset = 0;
  if (!reader.read_value(blob + layout.blob_code_offset, offset)) return false;
  out = blob + offset;
  return true;
}

// What compiled code does not share with later one at its address. False: unreadable.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_java_code_fingerprint(const JavaRuntime& java, Reader& reader,
                                                  std::uint64_t blob, std::uint64_t& out) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t method = 0;
  std::uint32_t compile_id = 0;
  if (!reader.read_value(blob + java.layout.nmethod_method, method) || method == 0 ||
      !reader.read_value(blob + java.layout.nmethod_compile_id, compile_id)) {
    return false;
  }
  out = method * kOdd ^ compile_id;
  return true;
}

}  // namespace swipr::runtimes
