// Comparison of two unwinders on the same stacks: how often they agreed, and the distinct pairs of
// stacks that differ, with counts.
// Context: control thread.  Allocates: a mapping of bounded size, touched as it fills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/unwind/walk/walk.h"

namespace swipr::agent::libunwind {

// One of the two stacks, innermost frame first.
struct FoundStack {
  std::span<const std::uint64_t> pcs;
  std::span<const std::uint8_t> kinds;
  std::uint32_t omitted_at = 0;
  std::uint32_t flags = 0;  // wire::StackFlags
};

// Stacks that were cut for their depth are compared up to the length of the shorter one.
bool same_frames(const unwind::FrameBuffer& left, const unwind::FrameBuffer& right) noexcept;

class Differences {
 public:
  static constexpr std::size_t kMemoryBytes = std::size_t{1} << 20;
  static constexpr std::uint32_t kMaxEntries = 1024;

  // False: no memory.
  [[nodiscard]] bool open() noexcept;
  // Deletes all entries.
  void clear() noexcept;

  void note(const unwind::FrameBuffer& own, const unwind::FrameBuffer& other) noexcept;

  std::uint64_t compared() const noexcept { return compared_; }
  std::uint64_t equal() const noexcept { return equal_; }
  // Number of differing stacks without an entry, because there was no room.
  std::uint64_t left_out() const noexcept { return left_out_; }
  std::uint32_t entry_count() const noexcept { return entry_count_; }

  // on_entry(number, count, own, other) for each entry, in the order of insertion.
  template <typename OnEntry>
  void for_each(OnEntry&& on_entry) const noexcept {
    std::uint32_t number = 0;
    for (std::size_t at = 0; at < used_bytes_; at += entry_at(at).bytes) {
      const Entry& entry = entry_at(at);
      on_entry(number++, entry.count, stack_of(entry, 0), stack_of(entry, 1));
    }
  }

 private:
  // The pcs of both follow it, and then their kinds.
  struct Entry {
    std::uint64_t hash;
    std::uint64_t count;
    std::uint32_t bytes;
    std::uint32_t frame_count[2];
    std::uint32_t omitted_at[2];
    std::uint32_t flags[2];
    std::uint32_t padding;
  };

  Entry& entry_at(std::size_t at) noexcept { return *reinterpret_cast<Entry*>(memory_ + at); }
  const Entry& entry_at(std::size_t at) const noexcept {
    return *reinterpret_cast<const Entry*>(memory_ + at);
  }
  static FoundStack stack_of(const Entry& entry, unsigned which) noexcept;
  Entry* find(std::uint64_t hash, const unwind::FrameBuffer& own,
              const unwind::FrameBuffer& other) noexcept;
  void add(std::uint64_t hash, const unwind::FrameBuffer& own,
           const unwind::FrameBuffer& other) noexcept;

  std::byte* memory_ = nullptr;
  std::size_t used_bytes_ = 0;
  std::uint32_t entry_count_ = 0;
  std::uint64_t compared_ = 0;
  std::uint64_t equal_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace swipr::agent::libunwind
