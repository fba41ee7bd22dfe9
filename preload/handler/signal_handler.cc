#include "preload/handler/signal_handler.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>

#include "common/core/errno_saver.h"
#include "preload/handler/calls/interrupted_code.h"
#include "preload/handler/signals/context.h"
#include "preload/handler/signals/disposition.h"
#include "preload/handler/signals/own_signal.h"
#include "preload/trace/gate/gate.h"

namespace swipr::handler {

namespace {

// Not inlined: their locals must not be on the stack while a walk runs (small alternate stacks).
// Everything that can change errno is called from here, so that changes by the program's handler
// are kept.
[[gnu::noinline]] MendedCall mend(ucontext_t& context, int number) noexcept {
  const ErrnoSaver errno_saver;
  return mend_call(context, number);
}

[[gnu::noinline]] void take_sample(int number, Slot* slot, Cookie cookie, bool bare,
                                   ucontext_t& context) noexcept {
  if (slot != nullptr) take_registers(context, slot->registers);
  const MendedCall mended = mend(context, number);  // even if no slot waits for the answer
  if (slot == nullptr) {
    shared.strays.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  slot->bare = bare;
  slot->call = mended;
  fill_slot(*slot, cookie, last_written_byte(context));
}

// The default action of a signal that would not be ignored: happens when the handler returns and
// the signal is unblocked.
void take_default_action(int number) noexcept {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  set_disposition(number, action);
  ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), number);
}

// Not through libc's function, which is wrapped for the program.
void change_mask(int how, const sigset_t& mask, sigset_t* before) noexcept {
  constexpr std::size_t kKernelBytes = 8;
  ::syscall(SYS_rt_sigprocmask, how, &mask, before, kKernelBytes);
}

// A signal that swipr did not send is handled as the program requested.
[[gnu::noinline]] void chain(int number, siginfo_t* info, void* context) noexcept {
  const struct sigaction action = take_program_action(number);
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (is_ignored(number, action)) {
    mend(interrupted, number);  // without swipr's handler it would not have been delivered
    return;
  }
  if (!has_function(action)) return take_default_action(number);
  // swipr's handler runs with all signals masked; the program's gets the mask that it requested.
  sigset_t mask = interrupted.uc_sigmask;
  sigset_t before;
  ::sigemptyset(&before);
  if ((action.sa_flags & SA_NODEFER) == 0) ::sigaddset(&mask, number);
  change_mask(SIG_SETMASK, mask, &before);
  change_mask(SIG_BLOCK, action.sa_mask, nullptr);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(number, info, context);
  } else {
    action.sa_handler(number);
  }
  change_mask(SIG_SETMASK, before, nullptr);
  leave_to_program(interrupted);
}

std::int32_t this_thread() noexcept { return static_cast<std::int32_t>(::syscall(SYS_gettid)); }

// The kernel has lost the signal's siginfo: RLIMIT_SIGPENDING limits the pending signals of all
// processes of the user, and any process may exhaust it. One of the program's own signals can look
// the same while one of swipr's is outstanding in this thread.
// Source: kernel/signal.c, __send_signal_locked ("silent loss of information") and collect_signal.
bool is_bare(const siginfo_t& info) noexcept {
  return info.si_code == SI_USER && info.si_pid == 0 && info.si_uid == 0;
}

// The slot that waits for an answer of this thread. If two instances of a signal are pending for
// one thread, the kernel keeps one: the other may be the program's, of an earlier request, or of a
// timer. A late signal makes no system call if nothing is outstanding: a program may have installed
// a filter since, after the control thread has left.
Slot* claim_for_this_thread(Cookie& cookie) noexcept {
  return is_any_armed() && find_cookie(this_thread(), cookie) ? try_claim(cookie) : nullptr;
}

// Code is being changed. Before anything of libc is called, which may be what is changed.
[[gnu::noinline]] void answer_gate(int number, const siginfo_t& info,
                                   ucontext_t& context) noexcept {
  move_out_of_change(context, value_of(info));
  mend(context, number);
}

void on_signal(int number, siginfo_t* info, void* context) noexcept {
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (info->si_code == trace::kGateSignalCode) return answer_gate(number, *info, interrupted);
  Cookie cookie;
  if (info->si_code == kOwnSignalCode) {
    cookie = unpack_cookie(value_of(*info));
    Slot* slot = try_claim(cookie);
    if (slot == nullptr) slot = claim_for_this_thread(cookie);
    return take_sample(number, slot, cookie, false, interrupted);
  }
  if (is_of_own_timer(*info)) {
    Slot* const asked = claim_for_this_thread(cookie);
    if (asked != nullptr) return take_sample(number, asked, cookie, false, interrupted);
    Slot* const slot = try_claim_open(value_of(*info));
    return take_sample(number, slot, {.sequence = kOpenSequence}, false, interrupted);
  }
  Slot* const slot = claim_for_this_thread(cookie);
  if (slot != nullptr) take_sample(number, slot, cookie, true, interrupted);
  if (slot == nullptr || !is_bare(*info)) chain(number, info, context);
}

}  // namespace

bool install_handler(int signal_number) noexcept {
  learn_call_registers();
  return install(signal_number, &on_signal);
}
bool retake_handler() noexcept { return retake(); }
void restore_handler(bool signals_may_be_pending) noexcept { restore(signals_may_be_pending); }
bool restarts_calls() noexcept { return installed_with_restart(); }

// One system call only: a caller that has checked the time may lose its CPU at each. si_uid is 0.
bool send_signal(Pid process, Tid thread, Cookie cookie) noexcept {
  siginfo_t info;
  std::memset(&info, 0, sizeof(info));
  info.si_signo = installed_signal();
  info.si_code = kOwnSignalCode;
  info.si_pid = process.value;
  info.si_value.sival_ptr = reinterpret_cast<void*>(pack(cookie));  // the kernel passes 8 bytes on
  return ::syscall(SYS_rt_tgsigqueueinfo, process.value, thread.value, info.si_signo, &info) == 0;
}

}  // namespace swipr::handler
