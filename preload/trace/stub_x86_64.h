#pragma once

#include <cstring>

#include "preload/trace/calls/pool.h"
#include "preload/trace/plan/plan.h"

namespace swipr::trace {

inline constexpr std::uint64_t kCopyAt = 64;  // behind the stub
inline constexpr int kTrapByte = 0xcc;
inline std::size_t bytes_of_copy(const Plan& plan) noexcept { return plan.copy_bytes; }

// Where a jump has its opcode.
inline constexpr std::uint64_t kOpcodeAt = 0;
inline bool is_jump_opcode(std::uint8_t byte) noexcept { return byte == 0xe9; }

// lea 8k(%rsp),%rsp; jmp *0(%rip); the entry's address
inline void write_stub(std::uint8_t* at, const Function&, const Plan& plan,
                       std::uint32_t probe) noexcept {
  const std::uint64_t entry = entry_of(probe);
  const std::uint8_t code[] = {
      0x48, 0x8d, 0x64, 0x24, static_cast<std::uint8_t>(8 * plan.patch_at), 0xff, 0x25, 0, 0, 0, 0};
  static_assert(sizeof code + sizeof entry <= kCopyAt && 8 * kMostKeptBytes <= 127);
  std::memcpy(at, code, sizeof code);
  std::memcpy(at + sizeof code, &entry, sizeof entry);
}

}  // namespace swipr::trace
