// Masks read back as set, and nothing of swipr is pending where signals are blocked.
#include <poll.h>
#include <sys/signalfd.h>

#include <thread>

#include "tests/targets/guest/guest_signals/checks.h"

namespace guest_signals {

// SIGURG blocked for good, as by who takes it from a signalfd: swipr then samples with SIGWINCH.
void check_other_signal() {
  sigset_t urgent;
  sigset_t before;
  sigemptyset(&urgent);
  sigaddset(&urgent, SIGURG);
  pthread_sigmask(SIG_BLOCK, &urgent, &before);
  for (int round = 0; round < 2; ++round) {
    work(100'000'000);
    for (int number : {SIGURG, SIGWINCH}) tell_disposition("default", number);
    seen = 0;
    tell("signal", signal(SIGWINCH, on_simple) == SIG_DFL);
    work();
    for (int i = 0; i < 20; ++i) {
      work(500'000);
      send(SIGWINCH);
    }
    tell("seen", seen);
    tell_disposition("own", SIGWINCH);
    tell("signal", signal(SIGWINCH, SIG_DFL) == on_simple);
    sigset_t pending;
    sigpending(&pending);
    tell("pending", sigismember(&pending, SIGURG) + 2 * sigismember(&pending, SIGWINCH));
  }
  send(SIGURG);
  work();
  timespec soon{0, 20'000'000};
  siginfo_t info{};
  tell("sigtimedwait", sigtimedwait(&urgent, &info, &soon));
  tell("code", info.si_code);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// All signals blocked in all threads, as some libraries do for theirs.
void check_blocked() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread other([] { work(); });
  work();
  other.join();
  sigset_t pending;
  sigpending(&pending);
  tell("pending", sigismember(&pending, SIGURG));
  timespec soon{0, 20'000'000};
  siginfo_t info{};
  work();
  tell("sigtimedwait", sigtimedwait(&all, &info, &soon));
  send(SIGUSR1);
  work();
  int number = 0;
  sigwait(&all, &number);
  tell("sigwait", number);
  const int fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
  work();
  signalfd_siginfo got{};
  tell("signalfd", read(fd, &got, sizeof got));
  send(SIGURG);
  work();
  tell("signalfd", read(fd, &got, sizeof got));
  tell("of", got.ssi_signo);
  tell("code", got.ssi_code);
  close(fd);
  send(SIGURG);
  work();
  tell("sigwaitinfo", sigwaitinfo(&all, &info));
  tell("code", info.si_code);
  seen = 0;
  signal(SIGURG, on_simple);
  work();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  tell("seen", seen);
  signal(SIGURG, SIG_DFL);
}

void check_masks() {
  sigset_t set;
  sigset_t now;
  sigemptyset(&set);
  sigaddset(&set, SIGURG);
  sigaddset(&set, SIGUSR2);
  tell("block", sigprocmask(SIG_BLOCK, &set, nullptr));
  work();
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  tell("blocked", sigismember(&now, SIGURG) + 2 * sigismember(&now, SIGUSR1));
  sigset_t none;
  sigemptyset(&none);
  timespec zero{};
  tell("ppoll", ppoll(nullptr, 0, &zero, &none));
  tell("unblock", sigprocmask(SIG_UNBLOCK, &set, &now));
  tell("was blocked", sigismember(&now, SIGURG));
  errno = 0;
  tell("again", pthread_sigmask(SIG_UNBLOCK, &set, nullptr));
  tell("errno", errno);
  tell("how", sigprocmask(17, &set, nullptr) == -1 && errno == EINVAL);
  tell("how", pthread_sigmask(17, &set, nullptr) == EINVAL);
}

}  // namespace guest_signals
