#include <sys/syscall.h>

#include <cerrno>

#include "preload/handler/calls/call_number.h"
#include "preload/handler/calls/continued_transfer.h"
#include "preload/handler/calls/interrupted_code.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::handler {

namespace {

constexpr std::uint64_t kForeignMark = 0x5357'4950'464f'5245;
constexpr std::uint64_t kRepeatMark = 0x5357'4950'5250'5443;
constexpr int kArgumentRegisters[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};

std::uint64_t reg(const ucontext_t& context, int number) noexcept {
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[number]);
}
void set_reg(ucontext_t& context, int number, std::uint64_t value) noexcept {
  context.uc_mcontext.gregs[number] = static_cast<greg_t>(value);
}

// The instruction before decides: other code has such registers, too, V8 calls functions by rcx.
// Most code is spared reading it.
bool has_just_returned(const ucontext_t& context, std::int32_t& number) noexcept {
  constexpr std::uint64_t kStepping = 0x1'0100;  // TF and RF, of debuggers
  const std::uint64_t rcx = reg(context, REG_RCX);
  const std::uint64_t changed = reg(context, REG_R11) ^ reg(context, REG_EFL);
  const bool is_possible = calls_keep_registers
                               ? rcx != kForeignMark
                               : rcx == reg(context, REG_RIP) && (changed & ~kStepping) == 0;
  return is_possible && read_call_number(context.uc_mcontext.gregs, number);
}

// Modulo 2^64: also back.
void move_on(ucontext_t& context, Rest rest, std::uint64_t done) noexcept {
  const int count = kArgumentRegisters[rest.count];
  set_reg(context, count, reg(context, count) - done);
  if (rest.buffer < 0) return;
  const int buffer = kArgumentRegisters[rest.buffer];
  set_reg(context, buffer, reg(context, buffer) + done);
}

}  // namespace

void learn_call_registers() noexcept {
  std::uint64_t number = SYS_gettid;
  std::uint64_t rcx = 0;
  asm volatile("syscall" : "+a"(number), "+c"(rcx) : : "r11", "memory");
  calls_keep_registers = rcx == 0;
}

bool read_call(const ucontext_t& context, SystemCall& call) noexcept {
  call.result = static_cast<std::int64_t>(reg(context, REG_RAX));
  const bool may_be_affected = call.result == -EINTR || call.result > 0;
  if (calls_keep_registers && !may_be_affected) return false;  // spares reading all code
  if (!has_just_returned(context, call.number) || !may_be_affected) return false;
  for (std::size_t at = 0; at < call.arguments.size(); ++at) {
    call.arguments[at] = reg(context, kArgumentRegisters[at]);
  }
  return true;
}

bool recognises_calls_of_libc() noexcept { return true; }

void repeat_call(ucontext_t& context, const SystemCall& call) noexcept {
  set_reg(context, REG_RAX, static_cast<std::uint64_t>(call.number));
  set_reg(context, REG_RIP, reg(context, REG_RIP) - unwind::kSyscallBytes);
  set_reg(context, REG_RCX, kRepeatMark);
}

void continue_transfer(ucontext_t& context, const SystemCall& call) noexcept {
  const Rest rest = rest_of(call);
  for (const Continuation& each : kContinuations) {
    if (each.rest.count != rest.count) continue;
    move_on(context, each.rest, static_cast<std::uint64_t>(call.result));
    set_reg(context, REG_R11, static_cast<std::uint64_t>(call.number));
    set_reg(context, REG_RIP, reinterpret_cast<std::uint64_t>(each.entry));
  }
}

bool is_continued_transfer(const ucontext_t& context) noexcept {
  return is_behind_continued_call(reg(context, REG_RIP));
}

void let_transfer_go_on(ucontext_t& context) noexcept { set_reg(context, REG_RCX, 0); }

void leave_to_program(ucontext_t& context) noexcept {
  std::int32_t number = -1;
  if (reg(context, REG_RCX) == kRepeatMark) {
    set_reg(context, REG_RAX, static_cast<std::uint64_t>(-EINTR));
    set_reg(context, REG_RIP, reg(context, REG_RIP) + unwind::kSyscallBytes);
  } else if (const Continuation* begun = continuation_at(reg(context, REG_RIP))) {
    move_on(context, begun->rest, std::uint64_t{0} - reg(context, REG_RAX));
    set_reg(context, REG_RIP, reg(context, REG_RCX));
  } else if (!has_just_returned(context, number)) {
    return;
  }
  set_reg(context, REG_RCX, kForeignMark);
}

}  // namespace swipr::handler
