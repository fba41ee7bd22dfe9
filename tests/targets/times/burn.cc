// burn CPU_MS [EXIT_CODE]: works for so much CPU time in burn_hot, then exits.
#include <cstdlib>

#include "tests/targets/target.h"

// About 5 ms: the clock is read seldom, so that no more than a few samples can be of its reading.
static constexpr std::uint64_t kSteps = 4'000'000;

TARGET_FRAME std::uint64_t burn_hot(std::uint64_t seed) { return target::churn(seed, kSteps) + 1; }

int main(int argc, char** argv) {
  const std::int64_t until = (argc > 1 ? std::atoll(argv[1]) : 0) * 1'000'000;
  std::uint64_t seed = 1;
  while (target::thread_cpu_ns() < until) seed = burn_hot(seed);
  if (seed == 0) return 1;
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
