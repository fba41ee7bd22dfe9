// exec_ways WAY PROGRAM ARG: works in before_exec, then becomes PROGRAM by the exec function that
// WAY names. "fail": every function is refused, then works in after_failed_exec and exits with 5.
// "vfork": PROGRAM runs in a child of vfork, then works in after_vfork and exits with its code.
#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <string_view>

#include "tests/targets/target.h"

extern char** environ;

namespace {
constexpr std::uint64_t kSteps = 4'000'000;  // about 5 ms
constexpr std::int64_t kWorkNs = 60'000'000;

template <typename Work>
void work(Work step) {
  const std::int64_t until = target::thread_cpu_ns() + kWorkNs;
  std::uint64_t seed = 1;
  while (target::thread_cpu_ns() < until) seed = step(seed);
}

int become(std::string_view way, char** command) {
  char* path = command[0];
  char* argument = command[1];
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (way == "execve") return execve(path, command, environ);
  if (way == "execv") return execv(path, command);
  if (way == "execvp") return execvp(path, command);
  if (way == "execvpe") return execvpe(path, command, environ);
  if (way == "execl") return execl(path, path, argument, nullptr);
  if (way == "execlp") return execlp(path, path, argument, nullptr);
  if (way == "execle") return execle(path, path, argument, nullptr, environ);
  if (way == "fexecve") return fexecve(fd, command, environ);
  if (way == "execveat") return execveat(fd, "", command, environ, AT_EMPTY_PATH);
  return -1;
}

constexpr const char* kWays[] = {"execve", "execv",  "execvp",  "execvpe", "execl",
                                 "execlp", "execle", "fexecve", "execveat"};
}  // namespace

TARGET_FRAME std::uint64_t before_exec(std::uint64_t seed) {
  return target::churn(seed, kSteps) + 1;
}
TARGET_FRAME std::uint64_t after_failed_exec(std::uint64_t seed) {
  return target::churn(seed, kSteps) + 1;
}
TARGET_FRAME std::uint64_t after_vfork(std::uint64_t seed) {
  return target::churn(seed, kSteps) + 1;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string_view way = argv[1];
  work(before_exec);
  if (way == "fail") {
    char missing[] = "/no/such/program";
    char* command[] = {missing, nullptr, nullptr};
    for (const char* each : kWays) {
      if (become(each, command) != -1 || errno == 0) return 1;
    }
    work(after_failed_exec);
    return 5;
  }
  if (way == "vfork") {
    const pid_t child = vfork();
    if (child == 0) {
      execv(argv[2], argv + 2);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    work(after_vfork);
    return WEXITSTATUS(status);
  }
  become(way, argv + 2);
  return 127;
}
