// What is read of LuaJIT's objects, and of its machine's frames on the native stack. All of it may
// be garbage.
// Context: signal handler or control thread.  Allocates: never.  Errno: kept.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "preload/runtimes/luajit/luajit_frames.h"

namespace swipr::runtimes {

inline constexpr std::uint64_t kLuaJitSlotBytes = 8;
inline constexpr std::uint64_t kLuaJitObjectBits = (std::uint64_t{1} << 47) - 1;  // of a value

constexpr bool is_object_address(std::uint64_t address) noexcept {
  return address >= kObjectPageBytes && address % 8 == 0 &&
         address >> unwind::kUserAddressBits == 0;
}

// A function.
struct LuaJitCall {
  std::uint64_t code = 0;  // 0: a function of C
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // of its instructions
  std::uint32_t fingerprint = 0;
  std::uint64_t built_in = 0;  // what tells one function of C from others
  std::uint64_t entry = 0;     // the instruction pointer in a function of C

  // The first one is next before the function has begun.
  bool is_instruction(std::uint64_t next) const noexcept {
    return code != 0 && next >= begin && next <= end;
  }
  std::uint32_t position(std::uint64_t next) const noexcept {
    return is_instruction(next) ? static_cast<std::uint32_t>((next - begin) / 4 - 1) : kNoPosition;
  }
};

// The two below a frame's base.
struct LuaJitSlots {
  std::uint64_t function;
  std::uint64_t link;
};

class LuaJitObjects {
 public:
  explicit LuaJitObjects(const LuaJitReaders& readers) noexcept : readers_(readers) {}

  // Not inline: they are called in many places.
  __attribute__((noinline)) bool read_bytes(std::uint64_t address, void* out,
                                            std::size_t bytes) noexcept {
    return readers_.objects.read(readers_.objects.state, address,
                                 {static_cast<std::byte*>(out), bytes});
  }
  template <typename T>
  bool read(std::uint64_t address, T& out) noexcept {
    return read_bytes(address, &out, sizeof out);
  }
  bool read_word(std::uint64_t at, std::uint64_t& word) noexcept {
    return readers_.stack.read_word(readers_.stack.state, at, word);
  }
  __attribute__((noinline)) bool read_native(std::uint64_t at, LuaJitNativeFrame& out) noexcept {
    std::array<std::uint64_t, kLuaJitNativePlaces.size()> words{};
    for (std::size_t index = 0; index < words.size(); ++index) {
      if (!read_word(at + kLuaJitNativePlaces[index], words[index])) return false;
    }
    out = std::bit_cast<LuaJitNativeFrame>(words);
    return true;
  }

  bool read_call(std::uint64_t object, LuaJitCall& out) noexcept {
    LuaJitFunction function{};
    object &= kLuaJitObjectBits;
    out = {};
    if (!is_object_address(object) || !read(object, function) ||
        function.type != kLuaJitFunctionType) {
      return false;
    }
    if (function.kind != 0) {
      out.built_in = function.c_function + function.instructions;  // either may be of several
      out.entry = function.instructions + 4;
      return true;
    }
    LuaJitCode code{};
    const std::uint64_t at = function.instructions - sizeof code;
    if (!is_object_address(at) || !read(at, code) || code.type != kLuaJitCodeType) return false;
    out.code = at;
    out.begin = function.instructions;
    out.end = out.begin + std::uint64_t{code.instruction_count} * 4;
    out.fingerprint = fingerprint_of(code);
    return true;
  }
  // The base of the caller, which has called the function at `base` directly before `next`.
  std::uint64_t caller_base(std::uint64_t base, std::uint64_t next) noexcept {
    std::uint32_t instruction = 0;
    if (!read(next - 4, instruction)) return 0;
    return base - (2 + (instruction >> 8 & 0xff)) * kLuaJitSlotBytes;
  }

 private:
  const LuaJitReaders& readers_;
};

}  // namespace swipr::runtimes
