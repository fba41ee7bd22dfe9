// Context: anywhere, signal handlers included.
// Source: AAPCS64, sections 6.1.1 (registers) and 6.4.6 (frame records); AADWARF64, section 4.1.
#pragma once

#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>

namespace swipr::unwind {

inline constexpr std::uint16_t kElfMachine = 183;  // EM_AARCH64

// DWARF numbers: 0–30 x0–x30 31 sp 32 pc.
inline constexpr unsigned kRegisterCount = 33;
using RegisterMask = std::uint64_t;
inline constexpr unsigned kX0 = 0, kX29 = 29, kX30 = 30, kSp = 31, kPc = 32;

inline constexpr unsigned kResultRegister = kX0;  // of functions and system calls
inline constexpr unsigned kStackRegister = kSp;
inline constexpr unsigned kFrameRegister = kX29;
// `bl` leaves the return address in x30. A rule has the place of its saved value where those of
// other architectures have that of a base register; CFAs are relative to sp and x29 only.
inline constexpr unsigned kBaseRegister = kX30;
// Registers that a thread has when a system call returns, and that walks may need.
inline constexpr unsigned kKeptRegisters[] = {19, 20, kX29, kX30};
inline constexpr unsigned kPcRegister = kPc;
inline constexpr unsigned kReturnColumn = kX30;  // of CFI, except that of signal frames
inline constexpr bool kReturnAddressIsPushed = false;
inline constexpr std::int32_t kReturnAddressAt = 0;  // unused: it has no fixed place
inline constexpr std::uint64_t kRedZoneBytes = 0;
inline constexpr std::uint64_t kSyscallBytes = 4;  // of the instruction
// The result of a system call is where its first argument was.
inline constexpr bool kResultReplacesArgument = true;
// Source: kernel, Documentation/arch/arm64/memory.rst; 52 bits only for mappings at such addresses.
inline constexpr unsigned kUserAddressBits = 48;
// DW_CFA_AARCH64_negate_ra_state: from here on the return address is signed, or no longer. Walks
// remove signatures from all return addresses.
inline constexpr std::uint8_t kIgnoredCfiInstruction = 0x2d;

// Source: kernel, arch/arm64/kernel/vdso/vdso.lds.S.
inline constexpr char kVdsoClock[] = "__kernel_clock_gettime";

// CFI at a function's beginning: CFA = sp.
inline constexpr std::uint8_t kCfiOfCallees[] = {0x0c, 31, 0};

// A function that libunwind exports on this machine.
inline constexpr const char* kLibunwindStep = "_ULaarch64_step";

// glibc's vector of blocks of thread-local variables (dtv), from the thread pointer. Source: its
// tcbhead_t.
inline constexpr std::uint64_t kTlsVectorAt = 0;

// kPc or 96, which libgcc has for it (DWARF_ALT_FRAME_RETURN_COLUMN), are those of signal frames.
constexpr bool is_return_column(std::uint64_t reg) noexcept {
  constexpr unsigned kOfLibgcc = 96;
  return reg == kReturnColumn || reg == kPcRegister || reg == kOfLibgcc;
}

// Of a thread's stack: glibc refuses less. Source: glibc, PTHREAD_STACK_MIN.
inline constexpr std::size_t kLeastStackBytes = 131072;

// Of the kernel, 4, 16 or 64 KiB: what mmap, munmap, mprotect and madvise change is a multiple of
// it.
inline std::size_t page_bytes() noexcept { return ::getauxval(AT_PAGESZ); }

// The bits of a code address in a return address, which may be signed (pointer authentication). The
// number of signature bits depends on the kernel. XPACLRI, which older processors execute as a NOP.
inline std::uint64_t plain_return_address(std::uint64_t address) noexcept {
  register std::uint64_t x30 __asm__("x30") = address;
  __asm__("hint #7" : "+r"(x30));
  return x30;
}

// Target of the call instruction in the 8 bytes before `return_address`; 0: no direct call. Source:
// Arm ARM, C6.2, BL: bits 31 to 26 are 100101, the distance from the instruction is in units of 4
// bytes.
inline std::uint64_t direct_call_target(std::uint64_t bytes_before,
                                        std::uint64_t return_address) noexcept {
  constexpr std::uint32_t kBranchWithLink = 0x25;
  const auto instruction = static_cast<std::uint32_t>(bytes_before >> 32);
  if (instruction >> 26 != kBranchWithLink) return 0;
  const auto distance = static_cast<std::int32_t>(instruction << 6) >> 4;
  return return_address - 4 + static_cast<std::uint64_t>(std::int64_t{distance});
}

// Result of the ADRP at `address`. Source: Arm ARM, C6.2, ADRP: its pages have 4 KiB, whatever the
// kernel's.
constexpr std::uint64_t adrp_result(std::uint32_t adrp, std::uint64_t address) noexcept {
  constexpr std::uint64_t kPage = 4096;
  const std::uint32_t pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
  const auto distance = static_cast<std::int32_t>(pages << 11) >> 11;
  return (address & -kPage) + static_cast<std::uint64_t>(std::int64_t{distance}) * kPage;
}

}  // namespace swipr::unwind
