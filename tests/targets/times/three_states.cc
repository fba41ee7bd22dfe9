// three_states MILLISECONDS: threads of all three states. Two compute on one CPU, so that one of
// them waits for it; one computes and sleeps in turns; one waits all the time. Each says when it is
// done what its own clocks showed, "thread NAME WALL CPU RUNQUEUE" in ns, and waits for the end of
// the process: what a thread did shortly before its end only itself can know. Then "process CPU".
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "tests/targets/target.h"

TARGET_FRAME std::uint64_t state_running(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

namespace {

std::atomic<bool> stop{false};
std::atomic<std::uint64_t> sink{0};
int stop_pipe[2];
std::mutex mutex;
std::condition_variable condition;
int done = 0;

std::int64_t read_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

template <typename Body>
void measured(const char* name, Body body) {
  target::name_thread(name);
  const std::int64_t start_ns = read_ns(CLOCK_MONOTONIC);
  body();
  std::unique_lock lock(mutex);
  std::printf("thread %s %lld %lld %lld\n", name,
              static_cast<long long>(read_ns(CLOCK_MONOTONIC) - start_ns),
              static_cast<long long>(target::thread_cpu_ns()),
              static_cast<long long>(target::queued_ns()));
  ++done;
  condition.notify_all();
  condition.wait(lock, [] { return false; });
}

// Naps first: a thread that ran in bursts and then waits only for its CPU does not wait any more.
void compute_on_first_cpu() {
  for (int nap = 0; nap < 20; ++nap) {
    const timespec duration{0, 1'000'000};
    nanosleep(&duration, nullptr);
  }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  int first = 0;
  while (first < CPU_SETSIZE && !CPU_ISSET(first, &allowed)) ++first;
  CPU_ZERO(&allowed);
  CPU_SET(first, &allowed);
  sched_setaffinity(0, sizeof allowed, &allowed);
  std::uint64_t seed = 1;
  while (!stop.load(std::memory_order_relaxed)) seed = state_running(seed);
  sink += seed;
}

// Naps of varying length: no lockstep with a sampler.
void compute_and_sleep() {
  std::uint64_t seed = 1;
  while (!stop.load(std::memory_order_relaxed)) {
    for (int chunk = 0; chunk < 40; ++chunk) seed = state_running(seed);
    const timespec nap{0, 3'000'000 + static_cast<long>(seed >> 45)};
    nanosleep(&nap, nullptr);
  }
  sink += seed;
}

void wait_for_the_end() {
  char byte;
  while (read(stop_pipe[0], &byte, 1) < 0) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || pipe(stop_pipe) != 0) return 2;
  std::thread([] { measured("first", compute_on_first_cpu); }).detach();
  std::thread([] { measured("second", compute_on_first_cpu); }).detach();
  std::thread([] { measured("sleeper", compute_and_sleep); }).detach();
  std::thread([] { measured("waiter", wait_for_the_end); }).detach();
  poll(nullptr, 0, std::atoi(argv[1]));
  stop = true;
  close(stop_pipe[1]);
  {
    std::unique_lock lock(mutex);
    condition.wait(lock, [] { return done == 4; });
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const std::int64_t cpu_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 +
                              usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
  std::printf("process %lld\n", static_cast<long long>(cpu_us * 1000));
  std::fflush(stdout);
  _exit(0);
}
