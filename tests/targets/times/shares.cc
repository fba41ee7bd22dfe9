// Two threads, each of which spends 70, 20 and 10 % of its CPU time in three functions.
//
// The work is counted, interleaved in rounds of varying length (no lockstep with a sampler), and
// makes no system call. Threads that wait for a CPU were seen in system calls more often than their
// time there explains (perhaps because kernels preempt where a call returns; not proven), and that
// would shift the shares.
// How long a step takes in each function is measured once, by the thread's CPU clock, in turns: the
// speed of a shared CPU changes.
#include <sched.h>

#include <algorithm>
#include <array>
#include <thread>

#include "tests/targets/target.h"

TARGET_FRAME std::uint64_t seventy_percent(std::uint64_t seed, std::uint64_t steps) {
  return target::churn(seed, steps) + 1;
}
TARGET_FRAME std::uint64_t twenty_percent(std::uint64_t seed, std::uint64_t steps) {
  return target::churn(seed, steps) + 2;
}
TARGET_FRAME std::uint64_t ten_percent(std::uint64_t seed, std::uint64_t steps) {
  return target::churn(seed, steps) + 3;
}

namespace {

constexpr int kWorkers = 2;
using Work = std::uint64_t (*)(std::uint64_t, std::uint64_t);

std::atomic<bool> stop{false};
std::atomic<int> calibrated{0};
std::atomic<std::uint64_t> sink{0};

constexpr std::array<Work, 3> kWorks{seventy_percent, twenty_percent, ten_percent};

// The fastest of several runs: the one with the least disturbance.
std::array<double, kWorks.size()> ns_per_step() {
  constexpr int kRuns = 60;
  constexpr std::uint64_t kSteps = target::kChunk * 4;
  std::array<std::int64_t, kWorks.size()> best;
  best.fill(INT64_MAX);
  for (int run = 0; run < kRuns; ++run) {
    for (std::size_t work = 0; work < kWorks.size(); ++work) {
      const std::int64_t start = target::thread_cpu_ns();
      sink += kWorks[work](1, kSteps);
      best[work] = std::min(best[work], target::thread_cpu_ns() - start);
    }
  }
  std::array<double, kWorks.size()> found;
  for (std::size_t work = 0; work < kWorks.size(); ++work) {
    found[work] = static_cast<double>(best[work]) / kSteps;
  }
  return found;
}

void run_worker(const char* name) {
  target::name_thread(name);
  // Steps for 1/256 of a round of 0.5 ms on average; a round has 128 to 383 of them.
  constexpr double kRoundNs = 500'000.0 / 256;
  const auto [ns70, ns20, ns10] = ns_per_step();
  const auto steps70 = static_cast<std::uint64_t>(0.7 * kRoundNs / ns70);
  const auto steps20 = static_cast<std::uint64_t>(0.2 * kRoundNs / ns20);
  const auto steps10 = static_cast<std::uint64_t>(0.1 * kRoundNs / ns10);
  ++calibrated;
  while (calibrated.load(std::memory_order_relaxed) != kWorkers) {
  }
  std::uint64_t seed = 1;
  while (!stop.load(std::memory_order_relaxed)) {
    const std::uint64_t parts = 128 + (seed >> 56);
    seed = seventy_percent(seed, parts * steps70);
    seed = twenty_percent(seed, parts * steps20);
    seed = ten_percent(seed, parts * steps10);
  }
  sink += seed;
}

}  // namespace

int main() {
  std::thread first(run_worker, "share worker 1");
  std::thread second(run_worker, "share worker 2");
  while (calibrated.load() != kWorkers) sched_yield();
  target::say("ready");
  target::wait_for_stdin_end();
  stop = true;
  first.join();
  second.join();
  return 0;
}
