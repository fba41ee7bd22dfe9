#include "preload/agent/base/random.h"

#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/agent/base/clock.h"

namespace swipr::agent {

std::uint64_t random_seed() noexcept {
  std::uint64_t seed = 0;
  if (::syscall(SYS_getrandom, &seed, sizeof seed, GRND_NONBLOCK) == sizeof seed) return seed;
  return Random(clock_ns(CLOCK_MONOTONIC)).next();
}

}  // namespace swipr::agent
