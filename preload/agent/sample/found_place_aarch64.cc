#include <array>
#include <cerrno>
#include <span>

#include "preload/agent/sample/found_place.h"
#include "preload/handler/calls/system_call.h"
#include "preload/machine/instruction_aarch64.h"

namespace swipr::agent {

namespace {

constexpr unsigned kX8 = 8;  // number of the call

bool is_call_at(const ProcMemory& memory, std::uint64_t address) noexcept {
  std::array<std::uint32_t, 1> code{};
  return memory.read(address, std::as_writable_bytes(std::span(code))) && code[0] == machine::kSvc;
}

}  // namespace

// The pc of a call that restarts is at the instruction, that of a waiting one after it. A call that
// has transferred a part was running.
Found found_at(const ProcMemory& memory, const unwind::Registers& registers) noexcept {
  const std::uint64_t pc = registers.values[unwind::kPcRegister];
  const auto result = static_cast<std::int64_t>(registers.values[unwind::kResultRegister]);
  if (is_call_at(memory, pc)) return Found::kInAWait;
  if (!is_call_at(memory, pc - unwind::kSyscallBytes)) return Found::kInItsCode;
  return result == -EINTR ? Found::kInAWait : Found::kBehindACall;
}

std::uint64_t pc_behind_call(const ProcMemory& memory,
                             const unwind::Registers& registers) noexcept {
  const std::uint64_t pc = registers.values[unwind::kPcRegister];
  return is_call_at(memory, pc) ? pc + unwind::kSyscallBytes : pc;
}

std::int32_t found_call(const ProcMemory&, const unwind::Registers& registers) noexcept {
  return handler::to_call_number(registers.values[kX8]);
}

}  // namespace swipr::agent
