// Walks a stack: finds the return addresses from registers and the tables of the code map.
// Context: signal handler or control thread.  Allocates: never.  Errno: kept by the caller.
#pragma once

#include <array>
#include <cstdint>

#include "common/core/addresses.h"
#include "common/core/signal_safe.h"
#include "common/wire/format.h"
#include "preload/unwind/base/registers.h"
#include "preload/unwind/walk/code_claims.h"

namespace swipr::unwind {

class CodeMap;

inline constexpr unsigned kExactFrame = 4;

// The last frame before a walk left code without CFI, in an image that has CFI, by an unproven
// step: such code may have any frame. If the walk does not reach the root, or may have skipped
// callers, the search for the caller begins here.
struct Hole {
  bool exists = false;
  std::uint32_t frame = 0;  // its index
  std::uint64_t stack = 0;  // its stack pointer
};

// Frames of one walk, innermost first, as parallel arrays (a typical walk touches one page).
struct FrameBuffer {
  std::uint32_t frame_count = 0;
  std::uint32_t omitted_at = 0;  // with wire::kStackCut: index of the first frame after the gap
  std::uint64_t flags = 0;       // wire::StackFlags
  std::uint32_t claim_count = 0;
  Hole hole;
  std::array<std::uint64_t, wire::kMaxFrames> pcs;
  // wire::FrameSource, | kExactFrame if the pc is exact (as in the wire format's runs)
  std::array<std::uint8_t, wire::kMaxFrames> kinds;
  // The stack pointer in each frame, after what it called has returned; to find the frame that an
  // address of the stack belongs to. Only of walks: not of stacks with frames of language runtimes.
  std::array<std::uint64_t, wire::kMaxFrames> stacks;
  // To be verified before the frames are used (code_claims.h).
  std::array<CodeClaim, kMaxClaims> claims;
};
inline constexpr std::uint32_t kKeptInner = 1536;  // of a stack deeper than kMaxFrames
inline constexpr std::uint32_t kKeptOuter = 512;

enum class WalkEnd : std::uint8_t {
  kRoot,             // undefined return address or a known outermost function
  kCut,              // depth bound reached while counting outer frames
  kUnreadable,       // stack memory could not be read
  kUnknownRegister,  // a rule needs a register that `registers` does not know (signal-free walks)
  kNoRule,           // no table, no frame pointer, no plausible guess
  kUnbuilt,          // the table that the last frame needs is not built yet
};

// The walk ended before the root, and a search for the caller is possible.
constexpr bool has_lost_caller(const FrameBuffer& frames) noexcept {
  return frames.hole.exists && frames.hole.frame < frames.frame_count &&
         (frames.flags & (wire::kStackRootReached | wire::kStackCut)) == 0;
}

// The walk reached the root, but the innermost frame was left by its frame pointer, which may be
// its caller's or belong to an outer frame still, or by its return address with its own stack
// pointer.
constexpr bool may_skip_callers(const FrameBuffer& frames) noexcept {
  return frames.hole.exists && frames.hole.frame == 0 && frames.frame_count > 1 &&
         (frames.flags & (wire::kStackRootReached | wire::kStackCut)) == wire::kStackRootReached;
}

// The address at which a frame is looked up.
constexpr std::uint64_t frame_lookup_address(const FrameBuffer& frames,
                                             std::uint32_t index) noexcept {
  return lookup_address(frames.pcs[index], (frames.kinds[index] & kExactFrame) != 0
                                               ? PcKind::kExact
                                               : PcKind::kReturnAddress);
}
// … and the outermost. Only when there is one.
constexpr std::uint64_t outermost_lookup_address(const FrameBuffer& frames) noexcept {
  return frame_lookup_address(frames, frames.frame_count - 1);
}

// Walks from `registers` (pc exact) and fills `frames`. If the walk does not end with kRoot,
// `frames` holds the frames up to its end. Bounds: at most kMaxSteps steps.
inline constexpr std::uint32_t kMaxSteps = 65536;
SWIPR_SIGNAL_SAFE WalkEnd walk(const CodeMap& map, const Registers& registers, StackReader reader,
                               FrameBuffer& frames) noexcept;
// Walks from a frame in the middle of a stack, which becomes the first. `exact`: its pc is exact,
// as that of the frame where an earlier walk stopped.
WalkEnd walk_on(const CodeMap& map, const Registers& stopped, bool exact, StackReader reader,
                FrameBuffer& frames) noexcept;

}  // namespace swipr::unwind
