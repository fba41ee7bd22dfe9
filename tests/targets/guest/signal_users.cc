// Programs that use the sampling signals themselves, in the way given by the first argument. Each
// ends at the end of its standard input and then prints its observations.
// * raise: raises SIGURG 20,000 times per second of CPU time, with a handler.
// * pending [ignored]: SIGURG and SIGWINCH are blocked and pending, for the process and for one
//   thread. Answers a line of input with the pending signals.
// * directed [ignored]: the same for one thread only; another one runs with both unblocked.
// * exec: as `pending ignored`; a line of input replaces the image by one that answers.
// * take [all]: takes SIGURG (all: every signal) by sigtimedwait, sigwaitinfo and signalfd in
//   threads that block it, at full rate.
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/targets/target.h"

namespace {

std::atomic<bool> stopped{false};
std::uint64_t sink = 0;

std::thread stop_with_stdin() {
  return std::thread([] {
    target::wait_for_stdin_end();
    stopped = true;
  });
}

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

volatile sig_atomic_t seen = 0;

int run_raise() {
  struct sigaction action {};
  action.sa_handler = [](int) { seen = seen + 1; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGURG, &action, nullptr);
  std::thread stopper = stop_with_stdin();
  target::say("ready");
  long raised = 0;
  while (!stopped) {
    const std::int64_t until = target::thread_cpu_ns() + 48'000;
    while (target::thread_cpu_ns() < until) sink = target::churn(sink, 3'000);
    raise(SIGURG);
    ++raised;
  }
  stopper.join();
  std::printf("raised %ld\nmissing %ld\n", raised, raised - seen);
  return 0;
}

// Prints the dispositions of both signals, and which are pending in the calling thread.
void tell_pending(const char* where) {
  sigset_t pending;
  sigpending(&pending);
  for (const int number : {SIGURG, SIGWINCH}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    const char* const disposition = action.sa_handler == SIG_DFL   ? "default"
                                    : action.sa_handler == SIG_IGN ? "ignored"
                                                                   : "caught";
    std::printf("%s %d: %s flags %x mask %lx %s\n", where, number, disposition,
                static_cast<unsigned>(action.sa_flags) & ~0x04000000u, action.sa_mask.__val[0],
                sigismember(&pending, number) == 1 ? "pending" : "not pending");
  }
}

// Takes the pending signals and prints their senders.
void take_pending(const char* where) {
  const sigset_t both = set_of({SIGURG, SIGWINCH});
  const timespec now{};
  siginfo_t info;
  for (int number = 0; (number = sigtimedwait(&both, &info, &now)) > 0;) {
    std::printf("%s took %d code %d from %s\n", where, number, info.si_code,
                info.si_pid == getpid() ? "itself" : "elsewhere");
  }
}

void send_to_this_thread(int number) {
  syscall(SYS_tgkill, getpid(), static_cast<pid_t>(syscall(SYS_gettid)), number);
}

int run_pending(bool everywhere, bool ignored) {
  if (ignored) {
    for (const int number : {SIGURG, SIGWINCH}) signal(number, SIG_IGN);
  }
  const sigset_t both = set_of({SIGURG, SIGWINCH});
  constexpr int kEnd = -1;
  std::atomic<int> asked{0}, answered{0};  // lines of input; kEnd: no more
  std::thread busy;
  const auto burn = [] {
    target::name_thread("busy");
    while (!stopped) sink = target::churn(sink, target::kChunk);
  };
  if (!everywhere) busy = std::thread(burn);
  pthread_sigmask(SIG_BLOCK, &both, nullptr);
  if (everywhere) busy = std::thread(burn);
  std::atomic<bool> set_up{false};
  std::thread holder([&] {
    for (const int number : {SIGURG, SIGWINCH}) send_to_this_thread(number);
    set_up = true;
    set_up.notify_one();
    for (int last = 0;;) {
      asked.wait(last);
      if ((last = asked) == kEnd) break;
      tell_pending("thread");
      answered = last;
      answered.notify_one();
    }
    take_pending("thread");
  });
  set_up.wait(false);
  if (everywhere) {
    for (const int number : {SIGURG, SIGWINCH}) kill(getpid(), number);
  }
  target::say("ready");
  char line[16];
  for (int line_count = 1; target::read_line(line, sizeof line); ++line_count) {
    asked = line_count;
    asked.notify_one();
    answered.wait(line_count - 1);
    if (everywhere) tell_pending("process");
    target::say("end");
  }
  stopped = true;
  asked = kEnd;
  asked.notify_one();
  busy.join();
  holder.join();
  if (everywhere) take_pending("process");
  return 0;
}

int run_exec(char* self) {
  for (const int number : {SIGURG, SIGWINCH}) signal(number, SIG_IGN);
  const sigset_t both = set_of({SIGURG, SIGWINCH});
  pthread_sigmask(SIG_BLOCK, &both, nullptr);
  for (const int number : {SIGURG, SIGWINCH}) {
    send_to_this_thread(number);
    kill(getpid(), number);
  }
  target::say("ready");
  char line[16];
  target::read_line(line, sizeof line);
  execl(self, self, "answer", nullptr);
  return 1;
}

std::atomic<long> taken{0};
void note(const char* by, int number, int code) {
  if (++taken <= 10) std::printf("%s took %d code %d\n", by, number, code);
}

int run_take(bool all) {
  sigset_t set = set_of({SIGURG});
  if (all) sigfillset(&set);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const auto work = [] {
    for (int i = 0; i < 5 && !stopped; ++i) sink = target::churn(sink, 10'000);
  };
  std::thread stopper = stop_with_stdin();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      target::name_thread("sigtimedwait");
      while (!stopped) {
        work();
        const timespec soon{0, 200'000};
        siginfo_t info;
        const int number = sigtimedwait(&set, &info, &soon);
        if (number > 0) note("sigtimedwait", number, info.si_code);
      }
    });
  }
  threads.emplace_back([&] {
    target::name_thread("signalfd");
    const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    while (!stopped) {
      work();
      signalfd_siginfo info;
      if (read(fd, &info, sizeof info) > 0)
        note("signalfd", static_cast<int>(info.ssi_signo), info.ssi_code);
    }
  });
  threads.emplace_back([&] {
    target::name_thread("opens");
    while (!stopped) {
      work();
      pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
      work();
      pthread_sigmask(SIG_BLOCK, &set, nullptr);
      sigset_t pending;
      sigpending(&pending);
      for (int number = 1; number <= SIGRTMAX; ++number) {
        if (sigismember(&pending, number) == 1) note("sigpending", number, 0);
      }
    }
  });
  threads.emplace_back([&] {
    while (!stopped) std::thread(work).join();
  });
  target::say("ready");
  for (std::thread& thread : threads) thread.join();
  stopper.join();
  std::printf("taken %ld\n", taken.load());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const std::string more = argc > 2 ? argv[2] : "";
  if (how == "raise") return run_raise();
  if (how == "pending") return run_pending(true, more == "ignored");
  if (how == "directed") return run_pending(false, more == "ignored");
  if (how == "exec") return run_exec(argv[0]);
  if (how == "take") return run_take(more == "all");
  if (how != "answer") return 2;
  tell_pending("image");
  take_pending("image");
  return 0;
}
