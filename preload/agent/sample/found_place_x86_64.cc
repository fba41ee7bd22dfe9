#include <array>
#include <cerrno>
#include <span>

#include "preload/agent/sample/found_place.h"
#include "preload/handler/calls/call_number.h"
#include "preload/handler/calls/interrupted_code.h"
#include "preload/handler/calls/system_call.h"

namespace swipr::agent {

namespace {

constexpr unsigned kRcx = 2;  // `syscall` stores the address after it there, without FRED

bool is_call_at(const ProcMemory& memory, std::uint64_t address) noexcept {
  std::array<std::uint8_t, unwind::kSyscallBytes> code;
  return memory.read(address, std::as_writable_bytes(std::span(code))) && code[0] == 0x0f &&
         code[1] == 0x05;
}

}  // namespace

// The pc of a call that restarts is before the instruction, that of a waiting one after it. A call
// that has transferred a part was running.
Found found_at(const ProcMemory& memory, const unwind::Registers& registers) noexcept {
  const std::uint64_t behind = pc_behind_call(memory, registers);
  const std::uint64_t pc = registers.values[unwind::kPcRegister];
  const auto result = static_cast<std::int64_t>(registers.values[unwind::kResultRegister]);
  const bool again = pc + unwind::kSyscallBytes == behind || (pc == behind && result == -EINTR);
  if (again) return Found::kInAWait;
  return pc == behind ? Found::kBehindACall : Found::kInItsCode;
}

// 0: it is not at a call, nor behind one.
std::uint64_t pc_behind_call(const ProcMemory& memory,
                             const unwind::Registers& registers) noexcept {
  if (!handler::calls_keep_registers) return registers.values[kRcx];
  const std::uint64_t pc = registers.values[unwind::kPcRegister];
  if (is_call_at(memory, pc)) return pc + unwind::kSyscallBytes;
  return is_call_at(memory, pc - unwind::kSyscallBytes) ? pc : 0;
}

// The kernel has put the number back into the register of a call that restarts.
std::int32_t found_call(const ProcMemory& memory, const unwind::Registers& registers) noexcept {
  const std::uint64_t behind = pc_behind_call(memory, registers);
  if (registers.values[unwind::kPcRegister] != behind)
    return handler::to_call_number(registers.values[unwind::kResultRegister]);
  std::array<std::uint8_t, handler::kCodeBytes> code;
  if (!memory.read(behind - code.size(), std::as_writable_bytes(std::span(code)))) return -1;
  return handler::decode_call_number(code);
}

}  // namespace swipr::agent
