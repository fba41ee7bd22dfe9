#include "preload/agent/base/moment.h"

#include "preload/agent/base/clock.h"

namespace swipr::agent {

Moment monotonic_now() noexcept { return read_clock(CLOCK_MONOTONIC).value_or(Moment{0}); }

}  // namespace swipr::agent
