// Calls wait() for any child all the time, and has one child. Prints "stranger PID" if another
// child appears, and "no strangers" at the end. Works in waiter_hot meanwhile.
#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <thread>

#include "tests/targets/target.h"

TARGET_FRAME std::uint64_t waiter_hot(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

namespace {

std::atomic<bool> stop{false};

// The child lives until its stdin, the program's own, is closed.
pid_t start_own_child() {
  const pid_t child = fork();
  if (child != 0) return child;
  pollfd fd{STDIN_FILENO, 0, 0};
  while ((fd.revents & POLLHUP) == 0) poll(&fd, 1, -1);
  _exit(0);
}

}  // namespace

int main() {
  const pid_t own = start_own_child();
  std::thread worker([] {
    target::name_thread("waiter");
    std::uint64_t seed = 1;
    while (!stop.load(std::memory_order_relaxed)) seed = waiter_hot(seed);
  });
  target::say("ready");
  bool strangers = false;
  while (true) {
    int status = 0;
    const pid_t got = waitpid(-1, &status, 0);
    if (got == own) break;
    if (got < 0 && errno == EINTR) continue;
    strangers = true;
    std::printf("stranger %d\n", got);
    if (got < 0) break;
  }
  stop = true;
  worker.join();
  int status = 0;
  while (waitpid(-1, &status, 0) > 0) {
    strangers = true;
    target::say("stranger at the end");
  }
  target::say(strangers ? "strangers" : "no strangers");
  return strangers ? 1 : 0;
}
