// Two threads, each of which spends 70, 20 and 10 % of its CPU time in three functions.
// Work is counted in small chunks, and the function that is furthest behind its share of the
// thread's CPU clock gets the next chunk: the truth holds on any machine and under any load. At the
// end the shares that the clock really gave are printed.
#include <thread>

#include "tests/targets/target.h"

TARGET_FRAME std::uint64_t seventy_percent(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}
TARGET_FRAME std::uint64_t twenty_percent(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 2;
}
TARGET_FRAME std::uint64_t ten_percent(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 3;
}

namespace {

std::atomic<bool> stop{false};
std::atomic<std::uint64_t> sink{0};

struct Share {
  std::uint64_t (*work)(std::uint64_t);
  double wanted;
  std::int64_t spent_ns = 0;
};

Share& furthest_behind(Share (&shares)[3], std::int64_t total_ns) {
  Share* best = &shares[0];
  double best_deficit = -1e18;
  for (Share& share : shares) {
    const double deficit =
        share.wanted * static_cast<double>(total_ns) - static_cast<double>(share.spent_ns);
    if (deficit > best_deficit) {
      best_deficit = deficit;
      best = &share;
    }
  }
  return *best;
}

void run_worker(const char* name) {
  target::name_thread(name);
  Share shares[3] = {{seventy_percent, 0.7}, {twenty_percent, 0.2}, {ten_percent, 0.1}};
  const std::int64_t start = target::thread_cpu_ns();
  std::int64_t last = start;
  std::uint64_t seed = 1;
  while (!stop.load(std::memory_order_relaxed)) {
    Share& next = furthest_behind(shares, last - start);
    seed = next.work(seed);
    const std::int64_t now = target::thread_cpu_ns();
    next.spent_ns += now - last;
    last = now;
  }
  sink += seed;
  for (const Share& share : shares) {
    std::fprintf(stderr, "%s %.1f %.3f\n", name, share.wanted * 100,
                 100.0 * static_cast<double>(share.spent_ns) / static_cast<double>(last - start));
  }
}

}  // namespace

int main() {
  std::thread first(run_worker, "share worker 1");
  std::thread second(run_worker, "share worker 2");
  target::say("ready");
  target::wait_for_stdin_end();
  stop = true;
  first.join();
  second.join();
  return 0;
}
