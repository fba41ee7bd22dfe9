// Shared code of the targets: the ready message, the wait for the end, and functions that stay
// on the stack as written.
//
// Every program prints "ready\n" when its threads are where the test expects them, and ends when
// its standard input is closed. No test has to sleep, no program outlives its test.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>

// A function with a frame of its own under exactly this name: no clones (".part.0"), no inlining.
#ifdef __clang__
#define TARGET_FRAME extern "C" __attribute__((noinline, disable_tail_calls, used))
#else
#define TARGET_FRAME extern "C" __attribute__((noipa, used))
#endif
#define TARGET_INLINE static inline __attribute__((always_inline))

namespace target {

inline void say(const char* line) {
  std::fputs(line, stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

// Reads one line from stdin without buffering behind it. False at the end of the input.
inline bool read_line(char* line, std::size_t size) {
  std::size_t used = 0;
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) == 1) {
    if (c == '\n') {
      line[used] = '\0';
      return true;
    }
    if (used + 1 < size) line[used++] = c;
  }
  return false;
}

// Retries on EINTR, so that a profiler that interrupts reads does not end the program.
inline void wait_for_stdin_end() {
  char buffer[256];
  while (true) {
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got == 0) return;
  }
}

// How long the calling thread has waited for a CPU since it was born; 0 without schedstat.
inline std::int64_t queued_ns() {
  std::ifstream file("/proc/thread-self/schedstat");
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  file >> running >> waiting;
  return waiting;
}

// How often it has gone to sleep. A wait that was not made again has slept once.
inline long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

inline std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Less than a second; less if a signal arrives.
inline void sleep_ms(int milliseconds) {
  const timespec time{0, milliseconds * 1'000'000};
  nanosleep(&time, nullptr);
}

inline std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline void name_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

// Counted work: a dependent chain of multiplications, about 1 ns a step.
TARGET_INLINE std::uint64_t churn(std::uint64_t seed, std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(seed));
  }
  return seed;
}

// Steps that take some tens of microseconds.
inline constexpr std::uint64_t kChunk = 30'000;

}  // namespace target
