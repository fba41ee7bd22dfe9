#include <cerrno>

#include "preload/handler/calls/interrupted_code.h"
#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::handler {

namespace {

constexpr std::uint64_t kSvc = 0xd4000001;  // svc #0
constexpr std::uint64_t kInstructionMask = 0xffff'ffff;

// The code that the thread has just executed: unmapping it would crash the thread in any case.
bool is_behind_call(const ucontext_t& context) noexcept {
  unwind::PageProbeReader reader;
  std::uint64_t code = 0;
  return reader.read_word(context.uc_mcontext.pc - unwind::kSyscallBytes, code) &&
         (code & kInstructionMask) == kSvc;
}

}  // namespace

void learn_call_registers() noexcept {}

// The first argument was in x0, where the result is now, so the call cannot be made again: its
// number is left unknown.
bool read_call(const ucontext_t& context, SystemCall& call) noexcept {
  call.result = static_cast<std::int64_t>(context.uc_mcontext.regs[unwind::kX0]);
  return call.result == -EINTR && is_behind_call(context);
}

void repeat_call(ucontext_t& /*context*/, const SystemCall& /*call*/) noexcept {}
void continue_transfer(ucontext_t& /*context*/, const SystemCall& /*call*/) noexcept {}
bool is_continued_transfer(const ucontext_t& /*context*/) noexcept { return false; }
void let_transfer_go_on(ucontext_t& /*context*/) noexcept {}
void leave_to_program(ucontext_t& /*context*/) noexcept {}

}  // namespace swipr::handler
