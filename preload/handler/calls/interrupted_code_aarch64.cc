#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "preload/handler/calls/call_code_aarch64.h"
#include "preload/handler/calls/continued_transfer.h"
#include "preload/handler/calls/interrupted_code.h"
#include "preload/unwind/base/registers.h"

// The kernel leaves no trace of a call in the registers: that the pc is behind `svc`, with a result
// that only this call can have left, shows it. The handlers leave their marks in the flags, if the
// code behind the call ignores them: no comparison sets both N and Z.
namespace swipr::handler {

namespace {

constexpr std::uint64_t kN = 1u << 31, kZ = 1u << 30, kC = 1u << 29, kV = 1u << 28;
constexpr std::uint64_t kFlags = kN | kZ | kC | kV;
constexpr std::uint64_t kForeignFlags = kN | kZ;
constexpr std::uint64_t kRepeatFlags = kN | kZ | kC;

constexpr unsigned kNumber = 8;  // x8
constexpr unsigned kReturn = 16, kFirst = 17;
// In x17, behind the `svc` of a continued transfer.
constexpr std::uint64_t kGoOn = 0, kReturned = 1, kForeign = 2;

template <typename Context>
auto& reg(Context& context, unsigned number) noexcept {
  return context.uc_mcontext.regs[number];
}

bool has_flags(const ucontext_t& context, std::uint64_t flags) noexcept {
  return (context.uc_mcontext.pstate & kFlags) == flags;
}
void set_flags(ucontext_t& context, std::uint64_t flags) noexcept {
  context.uc_mcontext.pstate = (context.uc_mcontext.pstate & ~kFlags) | flags;
}

// Modulo 2^64: also back.
void move_on(ucontext_t& context, Rest rest, std::uint64_t done) noexcept {
  reg(context, static_cast<unsigned>(rest.count)) -= done;
  if (rest.buffer < 0) return;
  reg(context, rest.buffer == 0 ? kFirst : static_cast<unsigned>(rest.buffer)) += done;
}

bool is_continued(std::uint64_t number) noexcept {
  constexpr std::uint64_t kCalls[] = {SYS_read,      SYS_write,    SYS_sendto,         SYS_recvfrom,
                                      SYS_getrandom, SYS_sendfile, SYS_copy_file_range};
  return std::find(std::begin(kCalls), std::end(kCalls), number) != std::end(kCalls);
}

// Nearly all interrupted code is none of this, and is recognised without reading it.
bool may_be_affected(const ucontext_t& context) noexcept {
  const auto result = static_cast<std::int64_t>(reg(context, unwind::kX0));
  return result == -EINTR || (result > 0 && is_continued(reg(context, kNumber)));
}

}  // namespace

void learn_call_registers() noexcept {}

bool read_call(const ucontext_t& context, SystemCall& call) noexcept {
  call.result = static_cast<std::int64_t>(reg(context, unwind::kX0));
  if (!may_be_affected(context)) return false;
  if (is_continued_transfer(context)) return reg(context, kFirst) == kReturned;
  if (!is_behind_call(context) || has_flags(context, kForeignFlags)) return false;
  const std::uint64_t pc = context.uc_mcontext.pc;
  const bool is_free = ignores_flags(pc) && (call.result < 0 || ignores_scratch(pc));
  if (!is_free || !find_first_argument(context, call.arguments[0])) return call.result < 0;
  for (unsigned at = 1; at < call.arguments.size(); ++at) call.arguments[at] = reg(context, at);
  call.number = static_cast<std::int32_t>(reg(context, kNumber));
  return true;
}

bool recognises_calls_of_libc() noexcept {
  return makes_known_call(reinterpret_cast<std::uint64_t>(&::recvfrom)) ||
         makes_known_call(reinterpret_cast<std::uint64_t>(&::epoll_pwait));
}

void repeat_call(ucontext_t& context, const SystemCall& call) noexcept {
  reg(context, unwind::kX0) = call.arguments[0];
  context.uc_mcontext.pc -= unwind::kSyscallBytes;
  set_flags(context, kRepeatFlags);
}

void continue_transfer(ucontext_t& context, const SystemCall& call) noexcept {
  const Rest rest = rest_of(call);
  for (const Continuation& each : kContinuations) {
    if (each.rest.count != rest.count) continue;
    reg(context, kReturn) = context.uc_mcontext.pc;
    reg(context, kFirst) = call.arguments[0];
    move_on(context, each.rest, static_cast<std::uint64_t>(call.result));
    context.uc_mcontext.pc = reinterpret_cast<std::uint64_t>(each.entry);
  }
}

bool is_continued_transfer(const ucontext_t& context) noexcept {
  return is_behind_continued_call(context.uc_mcontext.pc);
}

void let_transfer_go_on(ucontext_t& context) noexcept { reg(context, kFirst) = kGoOn; }

void leave_to_program(ucontext_t& context) noexcept {
  std::uint64_t pc = context.uc_mcontext.pc;
  if (is_continued_transfer(context)) {
    reg(context, kFirst) = kForeign;
    return;
  }
  if (const Continuation* begun = continuation_at(pc)) {
    move_on(context, begun->rest, std::uint64_t{0} - reg(context, unwind::kX0));
    pc = context.uc_mcontext.pc = reg(context, kReturn);
  } else if (has_flags(context, kRepeatFlags) && is_at_call(context)) {
    reg(context, unwind::kX0) = static_cast<std::uint64_t>(-EINTR);
    pc = context.uc_mcontext.pc += unwind::kSyscallBytes;
  } else if (!may_be_affected(context) || !is_behind_call(context)) {
    return;
  }
  if (ignores_flags(pc)) set_flags(context, kForeignFlags);
}

}  // namespace swipr::handler
