// Sizes of a change of x86-64's code. Context: anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swipr::trace {

inline constexpr std::size_t kJumpBytes = 5;
inline constexpr std::size_t kGateBytes = 2;
inline constexpr std::size_t kMostKeptBytes = 6;  // before the patch: pushes
inline constexpr std::size_t kMostMovedInstructions =
    kMostKeptBytes + 4;  // the first has two bytes or more
// Only the rest of the jump is forbidden: pushes before it stay.
inline constexpr bool kBeginIsForbidden = false;
// RIP-relative operands of the copy reach as far as those of the function, less its distance.
inline constexpr std::uint64_t kFarthestCopy = 1u << 30;

}  // namespace swipr::trace
