// Signals that others send arrive with their values, interrupt what they would interrupt, and
// handlers may leave by longjmp.
#include <poll.h>
#include <setjmp.h>
#include <sys/time.h>

#include <atomic>
#include <thread>

#include "tests/targets/guest/guest_signals/checks.h"

namespace guest_signals {

void check_foreign_signals() {
  for (int number : kSignals) {
    struct sigaction wanted = make(nullptr, SA_SIGINFO | SA_RESTART);
    wanted.sa_sigaction = on_info;
    sigaction(number, &wanted, nullptr);
    seen = 0;
    for (int i = 0; i < 50; ++i) {
      work(500'000);
      send(number);
    }
    tell("sent", seen);
    sigval value{};
    value.sival_int = 42;
    sigqueue(getpid(), number, value);
    tell("queued", seen);
    tell("code", seen_code);
    tell("value", seen_value);
    signal(number, SIG_DFL);
    tell("strange", seen_strange);
  }
}

void check_interruption() {
  struct sigaction wanted = make(on_simple, 0);
  sigaction(SIGURG, &wanted, nullptr);
  seen = 0;
  const pthread_t self = pthread_self();
  std::atomic<bool> end{false};
  std::thread sender([&] {
    while (!end.load()) {
      timespec pause{0, 1'000'000};
      nanosleep(&pause, nullptr);
      pthread_kill(self, SIGURG);
    }
  });
  int interrupted = 0;
  while (interrupted < 20) {
    if (poll(nullptr, 0, 10'000) == -1 && errno == EINTR) ++interrupted;
  }
  end = true;
  sender.join();
  tell("interrupted", interrupted);
  tell("seen", seen >= 20);
  signal(SIGURG, SIG_DFL);
}

namespace {

sigjmp_buf back;
void on_leaving(int) { siglongjmp(back, 1); }

}  // namespace

void check_longjmp() {
  signal(SIGUSR1, on_leaving);
  signal(SIGURG, on_leaving);
  static int left;
  static int i;
  for (i = 0; i < 400; ++i) {
    if (sigsetjmp(back, 1) == 0) {
      work(100'000);
      send(i % 2 == 0 ? SIGUSR1 : SIGURG);
    } else {
      ++left;
    }
  }
  tell("left", left);
  signal(SIGUSR1, SIG_DFL);
  signal(SIGURG, SIG_DFL);
}

void check_profiling_timer() {
  struct sigaction wanted = make(on_simple, SA_RESTART);
  sigaction(SIGPROF, &wanted, nullptr);
  seen = 0;
  const itimerval every{{0, 4000}, {0, 4000}};
  tell("setitimer", setitimer(ITIMER_PROF, &every, nullptr));
  // Armed anew now and then: a busy kernel may lose it.
  for (int i = 1; seen < 5; ++i) {
    work(1'000'000);
    if (i % 100 == 0) setitimer(ITIMER_PROF, &every, nullptr);
  }
  const itimerval never{};
  setitimer(ITIMER_PROF, &never, nullptr);
  tell("fired", seen >= 5);
  signal(SIGPROF, SIG_DFL);
}

}  // namespace guest_signals
