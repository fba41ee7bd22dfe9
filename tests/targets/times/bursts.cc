// bursts CPU: threads on that CPU that run for microseconds between waits: thirty and ten in two
// functions, the rest of their CPU time in the calls that wait. At the end: "cpu NS long_bursts NS
// short_bursts NS", all by the threads' own CPU clocks.
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/targets/target.h"

TARGET_FRAME std::uint64_t long_bursts(std::uint64_t seed, std::uint64_t steps) {
  return target::churn(seed, steps) + 30;
}
TARGET_FRAME std::uint64_t short_bursts(std::uint64_t seed, std::uint64_t steps) {
  return target::churn(seed, steps) + 10;
}

namespace {

constexpr int kWorkers = 8;
std::atomic<bool> stop{false};
std::atomic<int> ready{0};
std::atomic<std::uint64_t> sink{0};
std::mutex mutex;
std::int64_t cpu_ns = 0;
std::int64_t long_ns = 0;
std::int64_t short_ns = 0;

template <typename Work>
std::int64_t measured(Work work) {
  const std::int64_t start_ns = target::thread_cpu_ns();
  work();
  return target::thread_cpu_ns() - start_ns;
}

std::uint64_t steps_per_microsecond() {
  constexpr std::uint64_t kSteps = 100'000;
  std::int64_t best_ns = INT64_MAX;
  for (int run = 0; run < 20; ++run) {
    best_ns = std::min(best_ns, measured([] { sink += short_bursts(1, kSteps); }));
  }
  return kSteps * 1000 / static_cast<std::uint64_t>(best_ns);
}

void rest() {
  const timespec pause{0, 100'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
}

void run_worker(std::uint64_t steps) {
  target::name_thread("burster");
  std::int64_t in_long = 0;
  std::int64_t in_short = 0;
  std::uint64_t seed = 1;
  ++ready;
  const std::int64_t start_ns = target::thread_cpu_ns();
  while (!stop.load(std::memory_order_relaxed)) {
    in_long += measured([&] { seed = long_bursts(seed, 30 * steps); });
    rest();
    in_short += measured([&] { seed = short_bursts(seed, 10 * steps); });
    rest();
  }
  const std::lock_guard lock(mutex);
  cpu_ns += target::thread_cpu_ns() - start_ns;
  long_ns += in_long;
  short_ns += in_short;
  sink += seed;
}

}  // namespace

int main(int argc, char** argv) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(argc > 1 ? std::atoi(argv[1]) : 0, &cpus);
  if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  const std::uint64_t steps = steps_per_microsecond();
  std::vector<std::thread> workers;
  for (int worker = 0; worker < kWorkers; ++worker) workers.emplace_back(run_worker, steps);
  while (ready.load() != kWorkers) sched_yield();
  target::say("ready");
  target::wait_for_stdin_end();
  stop = true;
  for (std::thread& worker : workers) worker.join();
  std::printf("cpu %lld long_bursts %lld short_bursts %lld\n", static_cast<long long>(cpu_ns),
              static_cast<long long>(long_ns), static_cast<long long>(short_ns));
  return 0;
}
