// What aarch64 instructions do to registers, as far as code beside a system call consists of them.
// Source: Arm ARM, C4.1 (encodings by class) and C6.2.
// Context: anywhere, signal handlers included.
#pragma once

#include <cstdint>

namespace swipr::machine {

struct Instruction {
  bool is_known = false;  // false: it may do anything, and nothing else here is set
  bool sets_flags = false;
  bool stores = false;
  // A bit for each register. Bit 31: sp, or none.
  std::uint32_t names = 0;  // those that it may read or write
  std::uint32_t writes = 0;
};
// Neither branches, nor what reads flags, is known.
Instruction decode_instruction(std::uint32_t word) noexcept;

// Target of a direct branch, conditional or not, that is no call; 0: it is none.
std::uint64_t branch_target(std::uint32_t word, std::uint64_t address) noexcept;
bool is_conditional_branch(std::uint32_t word) noexcept;
// The register that a conditional branch tests; 31: it tests the flags.
unsigned tested_register(std::uint32_t word) noexcept;
// A call or a return: flags and x16 and x17 have no value for what follows (AAPCS64, 6.1.1).
bool is_call_or_return(std::uint32_t word) noexcept;
// What follows is other code.
bool is_trap(std::uint32_t word) noexcept;

bool writes_stack_pointer(std::uint32_t word) noexcept;
// What it takes from the stack; negative: what it gives back. 0: no constant number.
std::int64_t stack_bytes_taken(std::uint32_t word) noexcept;
// It is no call, and does not write x30: where a leaf function has not saved its return address it
// still has it there.
bool keeps_link(std::uint32_t word) noexcept;
// … and not sp either.
bool keeps_return_address(std::uint32_t word) noexcept;
// It returns by x30, or jumps on as a linker's stub does.
bool ends_leaf(std::uint32_t word) noexcept;

inline constexpr std::uint64_t kInstructionBytes = 4;
inline constexpr std::uint32_t kSvc = 0xd4000001;  // svc #0

}  // namespace swipr::machine
