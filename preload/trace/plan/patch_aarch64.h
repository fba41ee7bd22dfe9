// Sizes of a change of aarch64's code. Context: anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swipr::trace {

inline constexpr std::size_t kJumpBytes = 4;  // one instruction
// Before the patch: an instruction on which indirect calls land (BTI, PACIASP).
inline constexpr std::size_t kMostKeptBytes = 4;
inline constexpr std::size_t kMostMovedInstructions = 2;
// Who jumped to the patch itself would not have executed what is before it, which the stub undoes.
inline constexpr bool kBeginIsForbidden = true;
// What B reaches, less the size of the page.
inline constexpr std::uint64_t kFarthestCopy = (std::uint64_t{128} << 20) - (64 << 10);

}  // namespace swipr::trace
