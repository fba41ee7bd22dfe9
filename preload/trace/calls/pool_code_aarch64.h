// Included by pool.cc only.
#pragma once

#include <sys/mman.h>

#include <cstring>

#include "preload/machine/code_cache_aarch64.h"
#include "preload/trace/calls/pool.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::trace {

namespace {

// Source: Arm ARM, C6.2: BLR, ADR, B, BRK.
constexpr std::uint32_t kCallX16 = 0xd63f0200;
constexpr std::uint32_t kAddressInX30 = 0x1000001e;  // adr x30, .
constexpr std::uint32_t kJump = 0x14000000;
constexpr std::uint32_t kTrap = 0xd4200000;

std::uint32_t jump_to(const void* target, const std::uint32_t* from) noexcept {
  const auto distance =
      reinterpret_cast<std::uint64_t>(target) - reinterpret_cast<std::uint64_t>(from);
  return kJump | (static_cast<std::uint32_t>(distance >> 2) & 0x3ffffff);
}

std::size_t code_bytes() noexcept {
  return static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(swipr_trace_returns) -
                                  swipr_trace_thunks);
}

// The counter runs at one rate in all states (Arm ARM, D12.1). Call frame information finds a thunk
// by 48 bits of a return address that may be signed (thunks_aarch64.S).
inline PoolStatus check_processor() noexcept {
  constexpr std::uint64_t kNeeded = 0xffff'ffff'ffff;
  const std::uint64_t kept = unwind::plain_return_address(0x7f'ffff'ffff'ffff);
  return (kept & kNeeded) == kNeeded ? PoolStatus::kReady : PoolStatus::kNoInstructions;
}

inline void write_code() noexcept {
  for (std::uint32_t call = 0; call < kCallCount; ++call) {
    std::uint32_t thunk[kThunkBytes / 4] = {kCallX16, kAddressInX30, 0, kTrap};
    std::uint8_t* const at = swipr_trace_thunks + call * kThunkBytes;
    if (call % kThunksInPage == 0) {  // the header
      const auto* const table = reinterpret_cast<const std::uint8_t*>(&swipr_trace_returns[call]);
      thunk[0] = static_cast<std::uint32_t>(table - at);
      thunk[1] = thunk[2] = kTrap;
    } else {
      thunk[2] = jump_to(reinterpret_cast<const void*>(&swipr_trace_common_exit),
                         reinterpret_cast<const std::uint32_t*>(at) + 2);
    }
    std::memcpy(at, thunk, sizeof thunk);
  }
  machine::synchronise_code(swipr_trace_thunks, code_bytes());
}

inline bool make_code_executable() noexcept {
  return ::mprotect(swipr_trace_thunks, code_bytes(), PROT_READ | PROT_EXEC) == 0;
}

}  // namespace

std::uint64_t entry_of(std::uint32_t /*probe*/) noexcept {
  return reinterpret_cast<std::uint64_t>(&swipr_trace_common_entry);
}

}  // namespace swipr::trace
