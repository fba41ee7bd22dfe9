// lockstep wall|cpu PERIOD_US: a thread that goes through three functions in each period of the
// monotonic clock or of its own CPU clock: 70, 20 and 10 per cent of it, always at the same phase.
// lockstep burst PERIOD_US BURST_US: it sleeps to the beginning of each period of the monotonic
// clock and then runs for so much CPU time, in the same shares.
// At the end of its input: "seventy NS twenty NS ten NS", by the thread's own CPU clock.
#include <time.h>

#include <cstdlib>
#include <thread>

#include "tests/targets/target.h"

namespace {

std::atomic<bool> stop{false};

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

using Clock = std::int64_t (*)();
std::uint64_t seed = 1;

// Returns its CPU time.
TARGET_INLINE std::int64_t spin(Clock clock, std::int64_t until_ns) {
  const std::int64_t begin_ns = target::thread_cpu_ns();
  while (clock() < until_ns) seed = target::churn(seed, 100);
  return target::thread_cpu_ns() - begin_ns;
}

}  // namespace

TARGET_FRAME std::int64_t seventy(Clock clock, std::int64_t until_ns) {
  return spin(clock, until_ns) + 0;
}
TARGET_FRAME std::int64_t twenty(Clock clock, std::int64_t until_ns) {
  return spin(clock, until_ns) + 0;
}
TARGET_FRAME std::int64_t ten(Clock clock, std::int64_t until_ns) {
  return spin(clock, until_ns) + 0;
}

namespace {

std::int64_t cpu_ns[3] = {};

// The functions whose part of the period is not over yet.
void run_period(Clock clock, std::int64_t begin_ns, std::int64_t length_ns) {
  cpu_ns[0] += seventy(clock, begin_ns + length_ns / 10 * 7);
  cpu_ns[1] += twenty(clock, begin_ns + length_ns / 10 * 9);
  cpu_ns[2] += ten(clock, begin_ns + length_ns);
}

void run(Clock clock, std::int64_t period_ns) {
  while (!stop.load(std::memory_order_relaxed)) {
    const std::int64_t now_ns = clock();
    run_period(clock, now_ns - now_ns % period_ns, period_ns);
  }
}

void run_bursts(std::int64_t period_ns, std::int64_t burst_ns) {
  while (!stop.load(std::memory_order_relaxed)) {
    const std::int64_t now_ns = monotonic_ns();
    const std::int64_t next_ns = now_ns - now_ns % period_ns + period_ns;
    const timespec next{next_ns / 1'000'000'000, next_ns % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
    run_period(target::thread_cpu_ns, target::thread_cpu_ns(), burst_ns);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const kind = argv[1];
  const std::int64_t period_ns = std::int64_t{1000} * std::atoi(argv[2]);
  const std::int64_t burst_ns = argc > 3 ? std::int64_t{1000} * std::atoi(argv[3]) : 0;
  std::thread worker([=] {
    target::name_thread("worker");
    if (burst_ns != 0) return run_bursts(period_ns, burst_ns);
    run(std::strcmp(kind, "cpu") == 0 ? target::thread_cpu_ns : monotonic_ns, period_ns);
  });
  target::say("ready");
  target::wait_for_stdin_end();
  stop = true;
  worker.join();
  std::printf("seventy %lld twenty %lld ten %lld\n", static_cast<long long>(cpu_ns[0]),
              static_cast<long long>(cpu_ns[1]), static_cast<long long>(cpu_ns[2]));
  return seed == 0;
}
