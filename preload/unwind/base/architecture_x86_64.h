// Context: anywhere, signal handlers included.
// Source: System V AMD64 ABI, sections 3.2 (stack frame) and 3.6.2 (DWARF register numbers).
#pragma once

#include <cstdint>

#include "preload/unwind/base/registers.h"

namespace swipr::unwind {

inline constexpr std::uint16_t kElfMachine = 62;  // EM_X86_64
inline constexpr unsigned kStackRegister = kRsp;
inline constexpr unsigned kFrameRegister = kRbp;
// A base register other than the frame pointer that CFAs at call sites use: _dl_runtime_resolve of
// ld.so, clang's realigned frames. r10 and r13 (GCC's realigned frames) are used only before the
// first call, so they are needed only where they are known: in a context from the kernel.
inline constexpr unsigned kBaseRegister = kRbx;
inline constexpr unsigned kPcRegister = kPc;
inline constexpr std::int32_t kReturnAddressAt = -8;  // from the CFA: `call` pushed it

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
