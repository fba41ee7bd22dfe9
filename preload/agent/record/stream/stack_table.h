// The distinct stacks of one recording. A stack gets an id; equal stacks get the same one. Memory
// is bounded: when it is full the recording starts a new generation, in which ids begin again
// from 1. Context: control thread.  Allocates: 12 MiB of address space at create, touched as it
// fills.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/wire/sampled_calls.h"
#include "preload/agent/proc/wait_channels.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent {

// A call as two words, where StoredStack has pcs.
inline std::array<std::uint64_t, 2> pack_call(const wire::OpenCall& call) noexcept {
  return {call.probe << 32 | call.place, call.start_ns};
}
inline wire::OpenCall unpack_call(std::uint64_t first, std::uint64_t second) noexcept {
  return {.probe = first >> 32, .place = first & 0xffff'ffff, .start_ns = second};
}

// A stack in the table. pcs and kinds follow the header. With `base` it is that stack within traced
// calls, which are in place of the pcs (pack_call).
struct StoredStack {
  std::uint64_t hash = 0;
  std::uint32_t id = 0;
  std::uint32_t frame_count = 0;
  std::uint32_t omitted_at = 0;
  std::uint32_t flags = 0;  // wire::StackFlags
  WaitKey wait;
  std::uint32_t base = 0;
  bool defined = false;   // a record in the stream defines it
  bool defining = false;  // … in the bytes that are being written

  const std::uint64_t* pcs() const noexcept {
    return reinterpret_cast<const std::uint64_t*>(this + 1);
  }
  const std::uint8_t* kinds() const noexcept {
    return reinterpret_cast<const std::uint8_t*>(pcs() + frame_count);
  }
};

class StackTable {
 public:
  static constexpr std::size_t kMemoryBytes = std::size_t{12} << 20;
  static constexpr std::uint32_t kMaxStacks = 65535;
  // Stacks that differ in the lock that they wait for only; further ones are one, without a lock.
  static constexpr unsigned kMaxLocks = 8;

  [[nodiscard]] bool create(std::uint32_t max_stacks = kMaxStacks) noexcept;
  void release() noexcept;

  // The id; 0: full. `is_new`: it was added.
  std::uint32_t intern(const unwind::FrameBuffer& frames, WaitKey wait, bool& is_new) noexcept;
  // The same for a stack of the table within calls, as pack_call() makes them.
  std::uint32_t intern_within(std::uint32_t base, std::span<const std::uint64_t> calls,
                              bool& is_new) noexcept;
  // Removes all stacks.
  void start_generation() noexcept;

  std::uint32_t generation() const noexcept { return generation_; }
  std::uint32_t stack_count() const noexcept { return count_; }
  StoredStack& stack(std::uint32_t id) noexcept;

 private:
  // 128 Ki entries of 4 bytes: at most half full.
  static constexpr std::size_t kIndexEntries = std::size_t{1} << 17;
  static constexpr std::size_t kUnitBytes = 8;
  static constexpr std::size_t kIndexBytes = kIndexEntries * sizeof(std::uint32_t);
  static constexpr std::size_t kByIdBytes = (std::size_t{kMaxStacks} + 1) * sizeof(std::uint32_t);
  static constexpr std::size_t kArenaBytes = kMemoryBytes - kIndexBytes - kByIdBytes;

  struct Key;
  std::uint32_t intern(const Key& key, bool& is_new) noexcept;
  StoredStack& at(std::uint32_t unit) noexcept;

  std::byte* memory_ = nullptr;
  std::uint32_t* index_ = nullptr;  // arena units + 1; 0: free
  std::uint32_t* by_id_ = nullptr;  // arena units
  std::byte* arena_ = nullptr;
  std::size_t used_bytes_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t max_stacks_ = kMaxStacks;
  std::uint32_t generation_ = 1;
};

}  // namespace swipr::agent
