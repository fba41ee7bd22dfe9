// exec_chain CPU_MS PROGRAM [ARG…]: works for so much CPU time in before_exec, then becomes
// PROGRAM.
#include <cstdlib>

#include "tests/targets/target.h"

// About 5 ms: the clock is read seldom, because preempted threads are mostly seen in system calls.
static constexpr std::uint64_t kSteps = 4'000'000;

TARGET_FRAME std::uint64_t before_exec(std::uint64_t seed) {
  return target::churn(seed, kSteps) + 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::int64_t until = std::atoll(argv[1]) * 1'000'000;
  std::uint64_t seed = 1;
  while (target::thread_cpu_ns() < until) seed = before_exec(seed);
  if (seed == 0) return 1;
  execv(argv[2], argv + 2);
  return 127;
}
