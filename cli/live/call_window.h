// The last seconds of calls of a traced function: their durations, and the samples in them. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::live {

using CallBuckets = std::map<std::uint32_t, std::uint64_t>;  // common/core/duration_buckets.h

class CallWindow {
 public:
  static constexpr std::chrono::seconds kLength{60};
  static constexpr std::size_t kMaxSamples = 500'000;  // 40 MB; the oldest are dropped

  // Keeps those that are in calls. In order of time, all of the process: they tell the time.
  void add(std::span<const profile::Sample> samples);
  // All calls since the function is traced. Those that are new belong to the time of the last
  // sample. Once more from the beginning after begin_stream().
  void add_calls(const CallBuckets& all);
  // Samples and calls of another recording follow: kept samples are void.
  void begin_stream();

  CallBuckets calls(std::size_t seconds) const;
  std::vector<profile::Sample> samples(std::size_t seconds) const;
  // How much of the last `seconds` has been traced.
  std::chrono::nanoseconds covered(std::size_t seconds) const;

 private:
  struct Calls {
    std::chrono::nanoseconds time;
    CallBuckets added;
  };
  std::chrono::nanoseconds first(std::size_t seconds) const;

  std::deque<profile::Sample> samples_;
  std::deque<Calls> calls_;
  CallBuckets all_;
  std::chrono::nanoseconds begin_{0};
  std::chrono::nanoseconds now_{0};
  bool has_begun_ = false;
};

// Calls by duration in so many even steps of a logarithmic axis, from the shortest to the longest;
// the axis ends where a thousandth of the calls is left at either end. Empty without calls.
std::vector<std::uint64_t> make_histogram(const CallBuckets& calls, std::size_t steps);

}  // namespace swipr::live
