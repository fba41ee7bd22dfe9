// storm KIND MILLISECONDS FILE: a thread works in storm_hot while the main thread does as many as
// it can of what KIND says, each with a known result: "threads", "dlopen" (FILE is the plugin),
// "fork", "vfork" and "spawn" (FILE is the program; it gets "leaf CODE"), "exec" (fork and exec in
// turns). Prints "ready", then "done COUNT WRONG CPU-NS"; CPU-NS is what the process has used.
// storm leaf CODE exits with CODE. storm again COUNT FILE becomes itself COUNT times, then exits
// with 0.
#include <dlfcn.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "tests/targets/target.h"

extern char** environ;

TARGET_FRAME std::uint64_t storm_hot(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

namespace {

std::atomic<bool> stop{false};
std::atomic<std::uint64_t> sink{0};

// What a child is to exit with: never 0, and different from one to the next.
int code_of(unsigned number) { return 1 + static_cast<int>(number % 100); }

bool ends_with(pid_t child, int code) {
  int status = 0;
  if (child < 0) return false;
  while (waitpid(child, &status, 0) != child) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

struct Leaf {
  Leaf(const char* file, int code) : path(file), text(std::to_string(code)) {}
  std::string path, name = "leaf", text;
  char* arguments[4] = {path.data(), name.data(), text.data(), nullptr};
};

bool thread_storm(unsigned number) {
  constexpr unsigned kThreads = 8;
  std::uint64_t results[kThreads] = {};
  std::thread threads[kThreads];
  for (unsigned index = 0; index < kThreads; ++index) {
    threads[index] = std::thread([&results, index, number] {
      sink += target::churn(index, 5'000);
      results[index] = number + index;
    });
  }
  bool right = true;
  for (unsigned index = 0; index < kThreads; ++index) {
    threads[index].join();
    right = right && results[index] == number + index;
  }
  return right;
}

bool library_storm(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  auto* work = reinterpret_cast<std::uint64_t (*)(std::uint64_t)>(dlsym(library, "plugin_hot"));
  const bool right = work != nullptr;
  if (right) sink += work(1);
  return dlclose(library) == 0 && right;
}

bool fork_storm(unsigned number) {
  const pid_t child = fork();
  if (child == 0) {
    sink += storm_hot(number);
    _exit(code_of(number));
  }
  return ends_with(child, code_of(number));
}

bool exec_storm(unsigned number, const char* file) {
  Leaf leaf(file, code_of(number));
  const pid_t child = fork();
  if (child == 0) {
    execve(leaf.arguments[0], leaf.arguments, environ);
    _exit(127);
  }
  return ends_with(child, code_of(number));
}

bool vfork_storm(unsigned number, const char* file) {
  Leaf leaf(file, code_of(number));
  const pid_t child = vfork();
  if (child == 0) {
    execve(leaf.arguments[0], leaf.arguments, environ);
    _exit(127);
  }
  return ends_with(child, code_of(number));
}

bool spawn_storm(unsigned number, const char* file) {
  Leaf leaf(file, code_of(number));
  pid_t child = -1;
  if (posix_spawn(&child, file, nullptr, nullptr, leaf.arguments, environ) != 0) return false;
  return ends_with(child, code_of(number));
}

bool one(std::string_view kind, unsigned number, const char* file) {
  if (kind == "threads") return thread_storm(number);
  if (kind == "dlopen") return library_storm(file);
  if (kind == "fork") return fork_storm(number);
  if (kind == "exec") return exec_storm(number, file);
  if (kind == "vfork") return vfork_storm(number, file);
  return kind == "spawn" && spawn_storm(number, file);
}

std::int64_t nanoseconds(const timeval& time) {
  return (std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec) * 1000;
}

std::int64_t process_cpu_ns() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

int become_again(int count, char** argv) {
  if (count == 0) return 0;
  std::string rest = std::to_string(count - 1);
  char* arguments[] = {argv[0], argv[1], rest.data(), argv[3], nullptr};
  sink += storm_hot(static_cast<unsigned>(count));
  execve(argv[3], arguments, environ);
  return 126;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc < 3 ? "" : argv[1];
  if (kind == "leaf") return std::atoi(argv[2]);
  if (argc < 4) return 2;
  if (kind == "again") return become_again(std::atoi(argv[2]), argv);
  std::thread worker([] {
    target::name_thread("storm worker");
    std::uint64_t seed = 1;
    while (!stop.load(std::memory_order_relaxed)) seed = storm_hot(seed);
    sink += seed;
  });
  target::say("ready");
  unsigned count = 0;
  unsigned wrong = 0;
  const std::int64_t until = target::now_ns() + std::int64_t{std::atoi(argv[2])} * 1'000'000;
  for (; target::now_ns() < until; ++count) {
    if (!one(kind, count, argv[3])) ++wrong;
  }
  stop = true;
  worker.join();
  std::printf("done %u %u %lld\n", count, wrong, static_cast<long long>(process_cpu_ns()));
  return wrong == 0 ? 0 : 1;
}
