// On the way from the pc on which no conditional branch is taken.
#pragma once

#include <cstdint>

#include "preload/machine/instruction_aarch64.h"

namespace swipr::unwind {

// `read_word`: as that of a walk's reader.  Bounds: 64 instructions.
template <typename ReadWord>
bool ends_as_leaf(std::uint64_t pc, ReadWord&& read_word) noexcept {
  constexpr std::uint64_t kMostBytes = 64 * machine::kInstructionBytes;
  for (std::uint64_t at = pc; at != pc + kMostBytes; at += machine::kInstructionBytes) {
    std::uint64_t words = 0;
    if (!read_word(at & -sizeof words, words)) return false;
    const auto word = static_cast<std::uint32_t>(at % sizeof words == 0 ? words : words >> 32);
    if (machine::ends_leaf(word)) return true;
    const bool goes_on =
        machine::branch_target(word, at) == 0 || machine::is_conditional_branch(word);
    if (!goes_on || machine::is_trap(word) || !machine::keeps_return_address(word)) return false;
  }
  return false;
}

}  // namespace swipr::unwind
