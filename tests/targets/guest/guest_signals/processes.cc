// What threads and child processes see: cancellation, user ids, vfork, exec.
#include <poll.h>
#include <sys/wait.h>

#include "tests/targets/guest/guest_signals/checks.h"

namespace guest_signals {

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

}  // namespace guest_signals
