// Instructions on which indirect calls land where the processor checks them (BTI).
// Source: Arm ARM, D8.4.4 (PSTATE.BTYPE), C6.2: BTI, PACIASP, PACIBSP.
#pragma once

#include <cstdint>

namespace swipr::trace {

inline constexpr std::uint32_t kSignLinkA = 0xd503233f;  // paciasp
inline constexpr std::uint32_t kSignLinkB = 0xd503237f;  // pacibsp

constexpr bool is_landing(std::uint32_t word) noexcept {
  const bool is_bti = (word & 0xffffff3f) == 0xd503241f;
  return is_bti || word == kSignLinkA || word == kSignLinkB;
}

// What the stub executes to take it back. Sources: AUTIASP, AUTIBSP, NOP.
constexpr std::uint32_t undo_of_landing(std::uint32_t word) noexcept {
  constexpr std::uint32_t kNop = 0xd503201f, kCheckA = 0xd50323bf, kCheckB = 0xd50323ff;
  if (word == kSignLinkA) return kCheckA;
  return word == kSignLinkB ? kCheckB : kNop;
}

}  // namespace swipr::trace
