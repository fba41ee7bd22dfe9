#include "preload/agent/base/random.h"

#include <fcntl.h>
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

// getrandom(2) is in Linux since 3.17.
bool fill_random(std::span<std::uint8_t> bytes) noexcept {
  const auto wanted = static_cast<long>(bytes.size());
  if (::syscall(SYS_getrandom, bytes.data(), bytes.size(), GRND_NONBLOCK) == wanted) return true;
  const int device = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (device < 0) return false;
  const bool filled = ::read(device, bytes.data(), bytes.size()) == wanted;
  ::close(device);
  return filled;
}

}  // namespace swipr::agent
