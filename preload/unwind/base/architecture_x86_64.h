// Context: anywhere, signal handlers included.
// Source: System V AMD64 ABI, sections 3.2 (stack frame) and 3.6.2 (DWARF register numbers).
#pragma once

#include <cstddef>
#include <cstdint>

namespace swipr::unwind {

inline constexpr std::uint16_t kElfMachine = 62;  // EM_X86_64

// DWARF numbers: 0 rax 1 rdx 2 rcx 3 rbx 4 rsi 5 rdi 6 rbp 7 rsp 8–15 r8–r15 16 return address
// (here: the pc).
inline constexpr unsigned kRegisterCount = 17;
using RegisterMask = std::uint32_t;
inline constexpr unsigned kRax = 0, kRbx = 3, kRbp = 6, kRsp = 7, kPc = 16;

inline constexpr unsigned kResultRegister = kRax;  // of functions and system calls
inline constexpr unsigned kStackRegister = kRsp;
inline constexpr unsigned kFrameRegister = kRbp;
// A base register other than the frame pointer that CFAs at call sites use: _dl_runtime_resolve of
// ld.so, clang's realigned frames. r10 and r13 (GCC's realigned frames) are used only before the
// first call, so they are needed only where they are known: in a context from the kernel.
inline constexpr unsigned kBaseRegister = kRbx;
// Registers that a thread has when a system call returns, and that walks may need. Source: 3.2.1.
inline constexpr unsigned kKeptRegisters[] = {kRbx, kRbp, 12, 13, 14, 15};
inline constexpr unsigned kPcRegister = kPc;
inline constexpr unsigned kReturnColumn = kPc;        // of CFI
inline constexpr bool kReturnAddressIsPushed = true;  // by `call`
inline constexpr std::int32_t kReturnAddressAt = -8;  // from the CFA
inline constexpr std::uint64_t kRedZoneBytes = 128;   // below the stack pointer; 3.2.2
inline constexpr std::uint64_t kSyscallBytes = 2;     // of the instruction
// The result of a system call is where its first argument was.
inline constexpr bool kResultReplacesArgument = false;
// Source: kernel, Documentation/arch/x86/x86_64/mm.rst.
inline constexpr unsigned kUserAddressBits = 47;
// An instruction of CFI that is the architecture's own and changes no rule; kNop: there is none.
inline constexpr std::uint8_t kIgnoredCfiInstruction = 0;

// Source: kernel, arch/x86/entry/vdso/vdso.lds.S.
inline constexpr char kVdsoClock[] = "__vdso_clock_gettime";

// CFI at a function's beginning: CFA = rsp + 8, the return address at CFA - 8.
inline constexpr std::uint8_t kCfiOfCallees[] = {0x0c, 7, 8, 0x90, 1};

// A function that libunwind exports on this machine.
inline constexpr const char* kLibunwindStep = "_ULx86_64_step";

// glibc's vector of blocks of thread-local variables (dtv), from the thread pointer. Source: its
// tcbhead_t.
inline constexpr std::uint64_t kTlsVectorAt = 8;

constexpr bool is_return_column(std::uint64_t reg) noexcept { return reg == kReturnColumn; }

// Of a thread's stack: glibc refuses less. Source: glibc, PTHREAD_STACK_MIN.
inline constexpr std::size_t kLeastStackBytes = 16384;

// Of the kernel: what mmap, munmap, mprotect and madvise change is a multiple of it.
constexpr std::size_t page_bytes() noexcept { return 4096; }

// The bits of a code address in a return address.
inline std::uint64_t plain_return_address(std::uint64_t address) noexcept { return address; }

// Target of the call instruction in the 8 bytes before `return_address`; 0: no direct call. Source:
// Intel SDM volume 2, CALL: E8 and a displacement of 32 bits.
inline std::uint64_t direct_call_target(std::uint64_t bytes_before,
                                        std::uint64_t return_address) noexcept {
  constexpr std::uint64_t kCallRelative = 0xe8;
  if ((bytes_before >> 24 & 0xff) != kCallRelative) return 0;
  const auto displacement = static_cast<std::int32_t>(bytes_before >> 32);
  return return_address + static_cast<std::uint64_t>(std::int64_t{displacement});
}

}  // namespace swipr::unwind
