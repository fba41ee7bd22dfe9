#pragma once

#include <cstring>

#include "preload/machine/code_cache_aarch64.h"
#include "preload/trace/calls/pool.h"
#include "preload/trace/plan/code_words.h"
#include "preload/trace/plan/landing.h"
#include "preload/trace/plan/plan.h"

namespace swipr::trace {

inline constexpr std::uint64_t kCopyAt = 64;  // behind the stub
inline constexpr int kTrapByte = 0;           // udf
inline std::size_t bytes_of_copy(const Plan&) noexcept { return Plan::kMostCopyBytes; }

// Where a jump has its opcode.
inline constexpr std::uint64_t kOpcodeAt = 3;
inline bool is_jump_opcode(std::uint8_t byte) noexcept { return (byte & 0xfc) == 0x14; }

// nop, or autiasp; stp x16,x17,[sp,#-16]!; adr x17, data; ldr x16,[x17]; br x16; data: the entry's
// address, the probe's number; at last, before the copy: ldp x16,x17,[sp],#16.
inline void write_stub(std::uint8_t* at, const Function& function, const Plan& plan,
                       std::uint32_t probe) noexcept {
  constexpr std::size_t kDataAt = 24;
  const std::uint64_t entry = entry_of(probe);
  const std::uint32_t undo = undo_of_landing(plan.patch_at == 0 ? 0 : word_at(function.code, 0));
  const std::uint32_t code[] = {undo, 0xa9bf47f0, 0x10000091, 0xf9400230, 0xd61f0200};
  static_assert(sizeof code <= kDataAt);
  constexpr std::uint32_t kBack = 0xa8c147f0;
  static_assert(kCopyAt - sizeof kBack == kDataAt + 36, "thunks_aarch64.S");
  std::memcpy(at, code, sizeof code);
  std::memcpy(at + kDataAt, &entry, sizeof entry);
  std::memcpy(at + kDataAt + sizeof entry, &probe, sizeof probe);
  std::memcpy(at + kCopyAt - sizeof kBack, &kBack, sizeof kBack);
  machine::synchronise_code(at, kCopyAt + Plan::kMostCopyBytes);
}

}  // namespace swipr::trace
