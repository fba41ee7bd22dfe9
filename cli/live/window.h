// The last seconds of a recording that goes on: sums per second, thread, stack and state. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::live {

class Window {
 public:
  static constexpr std::size_t kMaxSeconds = 60;
  // Bounds the memory: 60 s of 20,000 sums are 180 MB.
  static constexpr std::size_t kMaxSumsPerSecond = 20'000;

  // A sample that lasts longer than a second is divided among its seconds. What is older than
  // kMaxSeconds is dropped.
  void add(std::span<const profile::Sample> samples);

  // The last `seconds`, the current one included, as samples; waiting ones first.
  std::vector<profile::Sample> sum(std::size_t seconds) const;
  // CPU time per second, oldest first.
  std::vector<std::chrono::nanoseconds> cpu_per_second(std::size_t seconds) const;
  // How much of the last `seconds` has been recorded yet.
  std::chrono::nanoseconds covered(std::size_t seconds) const;
  // Samples that exceeded kMaxSumsPerSecond.
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct Key {
    std::uint32_t thread;
    std::uint32_t stack;
    profile::State state;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Second {
    std::int64_t number = 0;  // since the first sample
    std::unordered_map<Key, profile::Sample, KeyHash> sums;
  };

  void add_part(std::int64_t number, const profile::Sample& part);
  Second* find_second(std::int64_t number);

  std::deque<Second> seconds_;  // consecutive numbers
  std::chrono::nanoseconds begin_{0};
  std::chrono::nanoseconds end_{0};  // of the newest sample
  bool has_begun_ = false;
  std::uint64_t left_out_ = 0;
};

}  // namespace swipr::live
