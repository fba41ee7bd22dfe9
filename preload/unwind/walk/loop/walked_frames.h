// The frames of a walk in their buffer: beyond kMaxFrames the outer ones are stored in a ring,
// which the end of the walk puts in order. Context: signal handler or control thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "preload/unwind/walk/loop/hot_registers.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::unwind {

class WalkedFrames {
 public:
  explicit WalkedFrames(FrameBuffer& frames) noexcept : frames_(frames) {}

  void begin() noexcept {
    frames_.claim_count = 0;
    frames_.hole = {};
  }

  void append(std::uint32_t index, const HotRegisters& hot, wire::FrameSource source) noexcept {
    const std::uint32_t at = slot(index);
    frames_.pcs[at] = hot.pc;
    frames_.stacks[at] = hot.stack;
    frames_.kinds[at] =
        static_cast<std::uint8_t>(static_cast<unsigned>(source) | (hot.exact ? kExactFrame : 0u));
  }
  // The pc of that frame is the instruction that runs next, not a return address.
  void mark_exact(std::uint32_t index) noexcept {
    std::uint8_t& kind = frames_.kinds[slot(index)];
    kind = static_cast<std::uint8_t>(kind | kExactFrame);
  }
  // The innermost one: after it no frame is certain.
  void note_hole(std::uint32_t index, std::uint64_t stack) noexcept {
    if (!frames_.hole.exists) frames_.hole = {.exists = true, .frame = index, .stack = stack};
  }

  void finish(std::uint32_t count, WalkEnd end) noexcept {
    frames_.flags = 0;
    frames_.omitted_at = 0;
    frames_.frame_count = count;
    if (end == WalkEnd::kRoot) {
      frames_.flags |= wire::kStackRootReached;
    } else if (end != WalkEnd::kCut) {
      frames_.flags |= wire::kStackBroken;
    }
    if (count <= wire::kMaxFrames) return;
    frames_.flags |= wire::kStackCut;
    frames_.omitted_at = kKeptInner;
    frames_.frame_count = wire::kMaxFrames;
    const std::uint32_t oldest = slot(count);  // where the next frame would be stored
    const auto put_in_order = [oldest](auto& values) {
      std::rotate(values.begin() + kKeptInner, values.begin() + oldest, values.end());
    };
    put_in_order(frames_.pcs);
    put_in_order(frames_.kinds);
    put_in_order(frames_.stacks);
  }

 private:
  static std::uint32_t slot(std::uint32_t index) noexcept {
    return index < wire::kMaxFrames ? index : kKeptInner + (index - kKeptInner) % kKeptOuter;
  }

  FrameBuffer& frames_;
};

}  // namespace swipr::unwind
