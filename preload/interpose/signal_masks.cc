// Masks of single threads: tells swipr when a thread may have blocked its signal (asking.h). The
// masks themselves are not changed.
#include <signal.h>

#include <cerrno>

#include "common/core/errno_saver.h"
#include "preload/agent/libunwind/library.h"
#include "preload/handler/asking.h"
#include "preload/handler/signals/disposition.h"
#include "preload/interpose/next.h"

namespace {

using swipr::interpose::Next;
namespace handler = swipr::handler;

using MaskFunction = int(int, const sigset_t*, sigset_t*);
constinit Next<MaskFunction> next_pthread_sigmask("pthread_sigmask");
constinit Next<MaskFunction> next_sigprocmask("sigprocmask");

[[gnu::constructor]] void find_all() noexcept {
  next_pthread_sigmask.find();
  next_sigprocmask.find();
}

int change(Next<MaskFunction>& next, int how, const sigset_t* set, sigset_t* before) noexcept {
  if (swipr::agent::libunwind::AtWork::is_of_this_thread()) return 0;
  const int sampling = handler::sampling_signal();
  if (set == nullptr || sampling == 0) return next(how, set, before);  // 0: put to sleep
  const bool holds = sigismember(set, sampling) == 1;
  // Only where it may change for that signal.
  if (!holds && how != SIG_SETMASK) return next(how, set, before);
  const handler::MaskChange change(holds && how != SIG_UNBLOCK);
  return next(how, set, before);
}

// Before glibc 2.32, only libpthread has pthread_sigmask, and this library is called without it.
int change_by_sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  const swipr::ErrnoSaver errno_saver;
  return change(next_sigprocmask, how, set, before) == 0 ? 0 : errno;
}

}  // namespace

SWIPR_EXPORTED int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  if (next_pthread_sigmask.find_once() == nullptr) return change_by_sigprocmask(how, set, before);
  return change(next_pthread_sigmask, how, set, before);
}

SWIPR_EXPORTED int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return change(next_sigprocmask, how, set, before);
}
