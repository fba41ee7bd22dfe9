// Checks of the signal state that a program can query. Each check prints its name and result; the
// output is the same with and without swipr. During each check two threads use CPU time, so that
// swipr sends signals. One file, because the output of all checks is compared as one text.
#include <execinfo.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "tests/targets/target.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // old programs call them all the same
extern "C" void (*bsd_signal(int, void (*)(int)))(int);     // no longer declared

namespace {

constexpr std::int64_t kWorkNs = 30'000'000;
constexpr int kSignals[] = {SIGURG, SIGWINCH, SIGUSR1, 40};

void work(std::int64_t ns = kWorkNs) {
  const std::int64_t until = target::thread_cpu_ns() + ns;
  std::uint64_t seed = 1;
  while (target::thread_cpu_ns() < until) seed = target::churn(seed, target::kChunk);
}

// Not raise: a signal for one thread is not queued while another of its kind waits for that thread,
// and that one may be swipr's.
void send(int number) { kill(getpid(), number); }

void tell(const std::string& what, long value) {
  std::printf("%s: %ld\n", what.c_str(), value);
  std::fflush(stdout);
}

volatile sig_atomic_t seen = 0;
volatile sig_atomic_t seen_code = 0;
volatile sig_atomic_t seen_value = 0;
volatile sig_atomic_t seen_strange = 0;

void on_simple(int) { seen = seen + 1; }
void on_info(int, siginfo_t* info, void*) {
  seen = seen + 1;
  seen_code = info->si_code;
  seen_value = info->si_value.sival_int;
  if (info->si_code != SI_USER && info->si_code != SI_TKILL && info->si_code != SI_QUEUE) {
    seen_strange = seen_strange + 1;
  }
}

struct sigaction make(void (*function)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = function;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  return action;
}

std::string text_of(const struct sigaction& action) {
  std::string text = action.sa_handler == SIG_DFL      ? "default"
                     : action.sa_handler == SIG_IGN    ? "ignored"
                     : action.sa_handler == on_simple  ? "on_simple"
                     : action.sa_sigaction == &on_info ? "on_info"
                                                       : "strange";
  text += ' ' + std::to_string(static_cast<unsigned>(action.sa_flags) & ~0x04000000u) + " mask";
  for (int number = 1; number <= 64; ++number) {
    if (sigismember(&action.sa_mask, number) == 1) text += ' ' + std::to_string(number);
  }
  return text;
}

void tell_disposition(const char* when, int number) {
  struct sigaction now {};
  const int result = sigaction(number, nullptr, &now);
  std::printf("%s %d: %d %s\n", when, number, result, text_of(now).c_str());
}

void check_dispositions() {
  for (int number : kSignals) {
    work();
    tell_disposition("first", number);
    struct sigaction wanted = make(on_simple, SA_RESTART | SA_ONSTACK);
    sigaddset(&wanted.sa_mask, SIGUSR2);
    sigaction(number, &wanted, nullptr);
    work();
    tell_disposition("set", number);
    wanted = make(nullptr, SA_SIGINFO | SA_ONSTACK);
    wanted.sa_sigaction = on_info;
    sigfillset(&wanted.sa_mask);
    struct sigaction before {};
    sigaction(number, &wanted, &before);
    std::printf("replaced: %s\n", text_of(before).c_str());
    work();
    tell_disposition("info", number);
    signal(number, SIG_IGN);
    work();
    tell_disposition("ignored", number);
    signal(number, SIG_DFL);
  }
}

void check_older_functions() {
  for (int number : kSignals) {
    work();
    tell("signal", signal(number, on_simple) == SIG_DFL);
    tell_disposition("signal", number);
    tell("sysv_signal", sysv_signal(number, SIG_IGN) == on_simple);
    tell("bsd_signal", bsd_signal(number, on_simple) == SIG_IGN);
    work();
    tell("siginterrupt", siginterrupt(number, 1));
    tell_disposition("siginterrupt", number);
    tell("signal", signal(number, on_simple) == on_simple);
    tell_disposition("interrupting", number);
    siginterrupt(number, 0);
    tell("sigset", sigset(number, SIG_HOLD) == on_simple);
    tell("sigset", sigset(number, SIG_DFL) == SIG_HOLD);
    tell("sigignore", sigignore(number));
    tell_disposition("sigignore", number);
    tell("signal", signal(number, SIG_DFL) == SIG_IGN);
  }
  tell("no such signal", signal(65, on_simple) == SIG_ERR && errno == EINVAL);
  tell("SIGKILL", signal(SIGKILL, on_simple) == SIG_ERR && errno == EINVAL);
  tell("libc's own", sigaction(32, nullptr, nullptr) == -1 && errno == EINVAL);
}

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

void check_reset() {
  for (int number : {SIGURG, SIGWINCH}) {
    struct sigaction wanted = make(on_simple, static_cast<int>(SA_RESETHAND));
    sigaction(number, &wanted, nullptr);
    seen = 0;
    work();
    send(number);
    send(number);
    tell("once", seen);
    tell_disposition("reset", number);
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

char small_stack[6144];
void on_small_stack(int) {
  char locals[1024];
  std::memset(locals, 0x5a, sizeof locals);
  asm volatile("" : : "r"(locals) : "memory");
  work();
  seen = seen + 1;
}

void check_small_stack() {
  work();  // what it calls is bound now, not on the small stack
  std::memset(small_stack, 0x77, sizeof small_stack);
  stack_t stack{};
  stack.ss_sp = small_stack;
  stack.ss_size = sizeof small_stack;
  // One handler from before there is such a stack, one from afterwards.
  const struct sigaction wanted = make(on_small_stack, SA_ONSTACK);
  sigaction(SIGUSR1, &wanted, nullptr);
  tell("sigaltstack", sigaltstack(&stack, nullptr));
  sigaction(SIGUSR2, &wanted, nullptr);
  for (int number : {SIGUSR1, SIGUSR2}) {
    seen = 0;
    for (int i = 0; i < 5; ++i) send(number);
    tell("seen", seen);
    tell_disposition("on a small stack", number);
  }
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  signal(SIGUSR1, SIG_DFL);
  signal(SIGUSR2, SIG_DFL);
}

void on_smallest_stack(int) { seen = seen + 1; }

// As large as the kernel wants it, with a page below that nothing may touch.
void check_smallest_stack() {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kRoom = 4 * kPage;
  auto* room = static_cast<char*>(
      mmap(nullptr, kPage + kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  tell("mprotect", mprotect(room, kPage, PROT_NONE));
  stack_t stack{};
  stack.ss_sp = room + kPage;
  stack.ss_size = static_cast<std::size_t>(sysconf(_SC_MINSIGSTKSZ));
  tell("sigaltstack", sigaltstack(&stack, nullptr));
  const struct sigaction wanted = make(on_smallest_stack, SA_ONSTACK);
  sigaction(SIGUSR1, &wanted, nullptr);
  seen = 0;
  for (int i = 0; i < 5; ++i) {
    work();
    send(SIGUSR1);
  }
  tell("seen", seen);
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  munmap(room, kPage + kRoom);
  signal(SIGUSR1, SIG_DFL);
}

sigjmp_buf back;
void on_leaving(int) { siglongjmp(back, 1); }

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

// A child that shares the memory changes dispositions of its own.
void check_vfork() {
  signal(SIGUSR1, on_simple);
  signal(SIGURG, on_simple);
  for (int i = 0; i < 20; ++i) {
    work(1'000'000);
    const pid_t child = vfork();
    if (child == 0) {
      signal(SIGUSR1, SIG_DFL);
      signal(SIGURG, SIG_IGN);
      execl("/bin/true", "true", nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) tell("status", status);
  }
  tell_disposition("after vfork", SIGUSR1);
  tell_disposition("after vfork", SIGURG);
  seen = 0;
  send(SIGUSR1);
  send(SIGURG);
  tell("seen", seen);
  signal(SIGUSR1, SIG_DFL);
  signal(SIGURG, SIG_DFL);
}

extern "C" void check_backtrace_here();
void on_backtrace(int) {
  void* frames[64];
  const int count = backtrace(frames, 64);
  const auto begin = reinterpret_cast<std::uintptr_t>(&check_backtrace_here);
  for (int i = 0; i < count; ++i) {
    if (reinterpret_cast<std::uintptr_t>(frames[i]) - begin < 256) seen = seen + 1;
  }
}

// Cancelled while it waits, and while it works.
void check_cancellation() {
  for (bool waits : {true, false}) {
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void* argument) -> void* {
          pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
          if (argument != nullptr) poll(nullptr, 0, -1);
          for (;;) work();
        },
        waits ? &thread : nullptr);
    work();
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    tell("cancelled", result == PTHREAD_CANCELED);
  }
}

// Every thread answers libc's signal for it, also one that blocks everything.
void check_set_user() {
  for (int i = 0; i < 20; ++i) {
    work(2'000'000);
    if (setresuid(static_cast<uid_t>(-1), static_cast<uid_t>(-1), static_cast<uid_t>(-1)) != 0) {
      tell("setresuid", errno);
    }
  }
  tell("done", 1);
}

}  // namespace

TARGET_FRAME std::uint64_t blocked_hot(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

TARGET_FRAME void check_backtrace_here() {
  work();
  send(SIGUSR1);
  asm volatile("" ::: "memory");
}

namespace {

void check_backtrace() {
  signal(SIGUSR1, on_backtrace);
  seen = 0;
  check_backtrace_here();
  tell("reached", seen);
  signal(SIGUSR1, SIG_DFL);
}

// What a new image inherits.
void check_exec(char* self) {
  std::printf("== exec\n");
  signal(SIGURG, SIG_IGN);
  work();
  for (bool by_vfork : {false, true}) {
    std::fflush(stdout);
    const pid_t child = by_vfork ? vfork() : fork();
    if (child == 0) {
      if (!by_vfork) work();
      execl(self, self, "inherited", nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    tell("status", status);
  }
  signal(SIGURG, SIG_DFL);
}

void tell_inherited() {
  for (int number : kSignals) tell_disposition("inherited", number);
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  tell("mask", sigisemptyset(&mask));
}

struct Check {
  const char* name;
  void (*run)();
};
constexpr Check kChecks[] = {
    {"dispositions", check_dispositions},
    {"older functions", check_older_functions},
    {"foreign signals", check_foreign_signals},
    {"reset", check_reset},
    {"interruption", check_interruption},
    {"blocked", check_blocked},
    {"other signal", check_other_signal},
    {"masks", check_masks},
    {"small stack", check_small_stack},
    {"smallest stack", check_smallest_stack},
    {"longjmp", check_longjmp},
    {"profiling timer", check_profiling_timer},
    {"vfork", check_vfork},
    {"backtrace", check_backtrace},
    {"cancellation", check_cancellation},
    {"set user", check_set_user},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "inherited") == 0) {
    tell_inherited();
    return 0;
  }
  std::atomic<bool> end{false};
  // As libraries do: the new thread inherits the mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread busy([&] {
    target::name_thread("blocked");
    std::uint64_t seed = 1;
    while (!end.load()) seed = blocked_hot(seed);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const Check& check : kChecks) {
    if (argc > 1 && std::strcmp(argv[1], check.name) != 0) continue;
    std::printf("== %s\n", check.name);
    check.run();
  }
  if (argc == 1 || std::strcmp(argv[1], "exec") == 0) check_exec(argv[0]);
  std::fflush(stdout);
  end = true;
  busy.join();
  return 0;
}
