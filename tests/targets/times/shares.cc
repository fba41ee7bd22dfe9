// Two threads, each of which spends 70, 20 and 10 % of its CPU time in three functions.
//
// The work is counted, interleaved in rounds of varying length (no lockstep with a sampler), and
// makes no system call. Threads that wait for a CPU were seen in system calls more often than their
// time there explains (perhaps because kernels preempt where a call returns; not proven), and that
// would shift the shares.
// How long a step takes in each function is measured once, by the thread's CPU clock.
#include <sched.h>

#include <algorithm>
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

// The fastest of several runs: the one with the least disturbance.
double ns_per_step(Work work) {
  std::int64_t best = INT64_MAX;
  for (int run = 0; run < 20; ++run) {
    const std::int64_t start = target::thread_cpu_ns();
    sink += work(1, target::kChunk * 10);
    best = std::min(best, target::thread_cpu_ns() - start);
  }
  return static_cast<double>(best) / (target::kChunk * 10);
}

std::uint64_t steps_for(double ns, Work work) {
  return static_cast<std::uint64_t>(ns / ns_per_step(work));
}

void run_worker(const char* name) {
  target::name_thread(name);
  // Steps for 1/256 of a round of 0.5 ms on average; a round has 128 to 383 of them.
  constexpr double kRoundNs = 500'000.0 / 256;
  const std::uint64_t steps70 = steps_for(0.7 * kRoundNs, seventy_percent);
  const std::uint64_t steps20 = steps_for(0.2 * kRoundNs, twenty_percent);
  const std::uint64_t steps10 = steps_for(0.1 * kRoundNs, ten_percent);
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
