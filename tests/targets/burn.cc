// burn CPU_MS [EXIT_CODE]: works for so much CPU time in burn_hot, then exits.
#include <cstdlib>

#include "tests/targets/target.h"

TARGET_FRAME std::uint64_t burn_hot(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

int main(int argc, char** argv) {
  const std::int64_t until = (argc > 1 ? std::atoll(argv[1]) : 0) * 1'000'000;
  std::uint64_t seed = 1;
  while (target::thread_cpu_ns() < until) seed = burn_hot(seed);
  if (seed == 0) return 1;
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
