// Divides samples among the seconds of a recording. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "cli/profile/recording/recording.h"

namespace swipr::live {

// The share of a sample that `wall` is of its time.
profile::Sample first_part(const profile::Sample& sample, std::chrono::nanoseconds wall);

// Calls `visit(second, part)` for each second since `begin` that the sample lasted in, oldest
// first. Ticks count in the last one. What is earlier than `kept` seconds before the end of the
// sample is left out.
template <typename Visit>
void divide(const profile::Sample& sample, std::chrono::nanoseconds begin, std::int64_t kept,
            Visit visit) {
  using namespace std::chrono_literals;
  using std::chrono::nanoseconds;
  const auto last = (std::max(sample.time - begin, nanoseconds(1)) - 1ns) / 1s;
  const auto oldest = std::max<std::int64_t>(last + 1 - kept, 0);
  profile::Sample rest = sample;
  const nanoseconds room = sample.time - (begin + oldest * 1s);
  if (sample.wall > room) rest = first_part(sample, room);
  const auto first = (sample.time - rest.wall - begin) / 1s;
  for (auto number = first; number < last; ++number) {
    const nanoseconds from = sample.time - rest.wall;
    profile::Sample part = first_part(rest, begin + (number + 1) * 1s - from);
    part.ticks = 0;
    rest.wall -= part.wall;
    rest.cpu -= part.cpu;
    rest.runqueue -= part.runqueue;
    visit(number, part);
  }
  visit(last, rest);
}

}  // namespace swipr::live
