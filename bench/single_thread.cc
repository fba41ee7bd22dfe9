// Measures operations that libc makes faster in single-threaded programs, and others that a preload
// may slow down. Prints nanoseconds per operation: the best of 9 batches. usage:
// bench_single_thread putc|shared_ptr|fork|spawn
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>

namespace {

template <typename Operation>
double best_nanoseconds(int count, Operation operation) {
  double best = std::numeric_limits<double>::max();
  for (int batch = 0; batch < 9; ++batch) {
    const auto begin = std::chrono::steady_clock::now();
    for (int index = 0; index < count; ++index) operation();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count() / count);
  }
  return best;
}

double measure_putc() {
  std::FILE* file = std::fopen("/dev/null", "w");
  if (file == nullptr) return -1;
  const double best = best_nanoseconds(2'000'000, [file] { putc('x', file); });
  std::fclose(file);
  return best;
}

double measure_shared_ptr() {
  const auto pointer = std::make_shared<int>(1);
  return best_nanoseconds(2'000'000, [&pointer] {
    const std::shared_ptr<int> copy = pointer;
    asm volatile("" : : "r"(copy.get()) : "memory");
  });
}

double measure_fork() {
  return best_nanoseconds(100, [] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    int status = 0;
    ::waitpid(child, &status, 0);
  });
}

// The child has an empty environment, hence no preload: only the caller's side is measured.
double measure_spawn() {
  return best_nanoseconds(100, [] {
    char path[] = "/bin/true";
    char* arguments[] = {path, nullptr};
    char* environment[] = {nullptr};
    pid_t child = 0;
    if (::posix_spawn(&child, path, nullptr, nullptr, arguments, environment) != 0) return;
    int status = 0;
    ::waitpid(child, &status, 0);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const char* subject = argc > 1 ? argv[1] : "";
  double best = -1;
  if (std::strcmp(subject, "putc") == 0) best = measure_putc();
  if (std::strcmp(subject, "shared_ptr") == 0) best = measure_shared_ptr();
  if (std::strcmp(subject, "fork") == 0) best = measure_fork();
  if (std::strcmp(subject, "spawn") == 0) best = measure_spawn();
  if (best < 0) {
    std::cerr << "usage: bench_single_thread putc|shared_ptr|fork|spawn\n";
    return 2;
  }
  std::cout << best << '\n';
}
