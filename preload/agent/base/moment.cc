#include "preload/agent/base/moment.h"

#include <time.h>

namespace swipr::agent {

Moment monotonic_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace swipr::agent
