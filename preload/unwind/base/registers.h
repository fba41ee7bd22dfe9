// Input of a walk: registers and a reader of the stack.
// Context: anywhere, signal handlers included.
#pragma once

#include <array>
#include <cstdint>

#include "preload/unwind/base/architecture.h"

namespace swipr::unwind {

// The DWARF register numbers of the architecture index `values`; bit n of `known` says that value n
// is known.
struct Registers {
  static constexpr unsigned kCount = kRegisterCount;
  std::array<std::uint64_t, kCount> values{};
  RegisterMask known = 0;

  bool knows(unsigned reg) const noexcept { return (known >> reg & 1u) != 0; }
};

constexpr RegisterMask bit_of(unsigned reg) noexcept { return RegisterMask{1} << reg; }
inline constexpr RegisterMask kAllRegisters =
    bit_of(kRegisterCount - 1) | (bit_of(kRegisterCount - 1) - 1);
// What a step past an ordinary frame recovers: valid in any caller.
inline constexpr RegisterMask kCallersRegisters =
    bit_of(kPcRegister) | bit_of(kStackRegister) | bit_of(kFrameRegister) |
    (kReturnAddressIsPushed ? bit_of(kBaseRegister) : 0);

// Reads stack memory without ever faulting. `read` fills `out` from `address`, false: unreadable.
// The walk asks for 8-byte words, mostly ascending.
struct StackReader {
  bool (*read_word)(void* state, std::uint64_t address, std::uint64_t& out) noexcept;
  void* state;
};

}  // namespace swipr::unwind
