// Durations of the calls of one function. Written by one thread, read by others meanwhile.
#pragma once

#include <cstdint>

#include "common/core/duration_buckets.h"

namespace swipr::trace {

struct Histogram {
  std::uint64_t calls;  // in the buckets
  std::uint64_t sum_ns;
  std::uint64_t max_ns;
  std::uint64_t unwound;    // ended by an exception; in the buckets, too
  std::uint64_t untraced;   // calls that were not measured, because all thunks were in use
  std::uint64_t elsewhere;  // … because they return to another place than those asked for
  std::uint64_t slow;       // above the threshold; in the buckets, too
  std::uint64_t slow_ns;    // how long they took
  std::uint64_t slow_lost;  // of them were not kept
  std::uint64_t buckets[kBucketCount];
};

}  // namespace swipr::trace
