// Input of a walk: registers and a reader of the stack.
// Context: anywhere, signal handlers included.
#pragma once

#include <array>
#include <cstdint>

namespace swipr::unwind {

// DWARF register numbers of the architecture index `values`; bit n of `known` says that value n is
// known. System V AMD64 ABI, figure 3.36: 0 rax 1 rdx 2 rcx 3 rbx 4 rsi 5 rdi 6 rbp 7 rsp 8–15
// r8–r15 16 return address (here: the pc).
struct Registers {
  static constexpr unsigned kCount = 17;
  std::array<std::uint64_t, kCount> values{};
  std::uint32_t known = 0;
};
inline constexpr unsigned kRax = 0, kRbx = 3, kRbp = 6, kRsp = 7, kPc = 16;

// Reads stack memory without ever faulting. `read` fills `out` from `address`, false: unreadable.
// The walk asks for 8-byte words, mostly ascending.
struct StackReader {
  bool (*read_word)(void* state, std::uint64_t address, std::uint64_t& out) noexcept;
  void* state;
};

}  // namespace swipr::unwind
