// Puts the frames of a language into a native stack, where the native frames of its interpreter
// loop are. Pure: reads no memory but its arguments.
//
// A token that ends a loop (kTokenEndsLoop) closes a group: the frames that one native loop runs.
// * With marks (Python 3.11+): native frame i, which has the stack from its stack pointer up to
//   that of frame i + 1, is the loop of the group whose mark lies there, whatever its symbol is.
// * Without marks (Python 3.8–3.10, Ruby, PHP, Perl): loops are found by the address of their code.
//   As many loops as groups pair up. One loop more: the innermost has no frame yet. One group more:
//   the innermost has no loop yet, and comes first. Otherwise they are paired from the root and
//   `is_uneven` is set, or from the inside where frames are missing at the root.
// A group replaces its loop, and neighbours of it in the loop's symbol. Groups without a loop keep
// their place among the others; those at the root side come last: native unwinding stopped early.
//
// Context: control thread.  Allocates: never.  Bounds: linear in the frames.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "common/wire/format.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

// Innermost first; three arrays of one size, as in FrameBuffer.
struct NativeStack {
  std::span<const std::uint64_t> pcs;
  std::span<const std::uint64_t> stacks;  // each frame's stack pointer, where its callee returns
  bool is_root_reached = false;
  std::uint32_t omitted_at = 0;  // index of the first frame after the omitted ones; 0: none are
};

// As a finished TokenBuffer has them.
struct TokenStack {
  std::span<const Token> tokens;
  std::uint32_t omitted = 0;
  bool is_root_reached = false;  // else the outermost tokens are missing
};

struct SplicedFrame {
  std::uint32_t index = 0;  // in the tokens or in the native frames
  bool is_token = false;
};

// Of a deep stack both ends are kept, as in FrameBuffer. 33 KiB: one, kept by its user.
struct SplicedStack {
  std::uint32_t count = 0;
  std::uint32_t omitted_at = 0;  // index of the first frame after the gap; 0: nothing is omitted
  bool is_uneven = false;        // groups and loops do not match: some frames may be misplaced
  bool is_paired = false;        // without marks: each group has its loop, each loop its group
  std::uint32_t loops_left = 0;  // native frames in the loop's symbol
  std::array<SplicedFrame, wire::kMaxFrames + TokenBuffer::kCapacity> frames;

  std::span<const SplicedFrame> view() const noexcept { return std::span(frames).first(count); }
};

// `loop`: the code of the interpreter's loop, may be empty if there are marks.
void splice(const NativeStack& native, const TokenStack& tokens, Range<std::uint64_t> loop,
            SplicedStack& out) noexcept;

}  // namespace swipr::runtimes
