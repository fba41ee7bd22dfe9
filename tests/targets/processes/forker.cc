// Forks without exec; the child says "child PID" and works in child_hot until stdin is closed.
#include <poll.h>
#include <sys/wait.h>

#include <cerrno>

#include "tests/targets/target.h"

TARGET_FRAME std::uint64_t child_hot(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

namespace {

bool stdin_is_open() {
  pollfd fd{STDIN_FILENO, POLLIN, 0};
  return poll(&fd, 1, 0) == 0 || (fd.revents & POLLHUP) == 0;
}

int run_child() {
  std::printf("child %d\n", getpid());
  target::say("ready");
  std::uint64_t seed = 1;
  while (stdin_is_open()) {
    for (int i = 0; i < 100; ++i) seed = child_hot(seed);
  }
  return seed == 0 ? 1 : 0;
}

}  // namespace

int main() {
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) return run_child();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
