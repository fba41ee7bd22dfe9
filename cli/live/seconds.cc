#include "cli/live/seconds.h"

namespace swipr::live {

namespace {

using std::chrono::nanoseconds;

nanoseconds scaled(nanoseconds time, nanoseconds part, nanoseconds whole) {
  return nanoseconds(static_cast<std::int64_t>(static_cast<double>(time.count()) *
                                               static_cast<double>(part.count()) /
                                               static_cast<double>(whole.count())));
}

}  // namespace

profile::Sample first_part(const profile::Sample& sample, nanoseconds wall) {
  profile::Sample part = sample;
  part.wall = wall;
  part.cpu = scaled(sample.cpu, wall, sample.wall);
  part.runqueue = scaled(sample.runqueue, wall, sample.wall);
  return part;
}

}  // namespace swipr::live
