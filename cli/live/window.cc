#include "cli/live/window.h"

#include <algorithm>

#include "cli/live/seconds.h"

namespace swipr::live {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

void add_to(profile::Sample& sum, const profile::Sample& part) {
  sum.time = std::max(sum.time, part.time);
  sum.ticks += part.ticks;
  sum.cpu += part.cpu;
  sum.runqueue += part.runqueue;
  sum.wall += part.wall;
}

bool waits(const profile::Sample& sample) { return sample.state != profile::State::kRunning; }

}  // namespace

std::size_t Window::KeyHash::operator()(const Key& key) const {
  const std::uint64_t both =
      (std::uint64_t{key.stack} << 32 | key.thread) * 4 + static_cast<std::uint64_t>(key.state);
  return static_cast<std::size_t>(both * 0x9E3779B97F4A7C15u);
}

void Window::add(std::span<const profile::Sample> samples) {
  for (const profile::Sample& sample : samples) {
    if (!has_begun_) begin_ = end_ = sample.begin();
    has_begun_ = true;
    end_ = std::max(end_, sample.time);
    divide(sample, begin_, kMaxSeconds,
           [this](std::int64_t number, const profile::Sample& part) { add_part(number, part); });
  }
}

void Window::add_part(std::int64_t number, const profile::Sample& part) {
  Second* const second = find_second(number);
  if (second == nullptr) return;
  const Key key{part.thread, part.stack, part.state};
  const auto found = second->sums.find(key);
  if (found != second->sums.end()) return add_to(found->second, part);
  if (second->sums.size() < kMaxSumsPerSecond) {
    second->sums.emplace(key, part);
  } else {
    left_out_ += part.ticks;
  }
}

// nullptr: it is too long ago.
Window::Second* Window::find_second(std::int64_t number) {
  if (seconds_.empty()) seconds_.push_back({number, {}});
  if (number > seconds_.back().number + std::int64_t{kMaxSeconds}) {
    seconds_.clear();
    seconds_.push_back({number, {}});
  }
  while (number > seconds_.back().number) seconds_.push_back({seconds_.back().number + 1, {}});
  while (seconds_.size() > kMaxSeconds) seconds_.pop_front();
  const std::int64_t at = number - seconds_.front().number;
  return at < 0 ? nullptr : &seconds_[static_cast<std::size_t>(at)];
}

std::vector<profile::Sample> Window::sum(std::size_t seconds) const {
  std::unordered_map<Key, profile::Sample, KeyHash> sums;
  const std::size_t kept = std::min(seconds, seconds_.size());
  for (std::size_t at = seconds_.size() - kept; at < seconds_.size(); ++at) {
    for (const auto& [key, part] : seconds_[at].sums) {
      const auto [found, is_new] = sums.try_emplace(key, part);
      if (!is_new) add_to(found->second, part);
    }
  }
  std::vector<profile::Sample> samples;
  samples.reserve(sums.size());
  for (const auto& [key, sum] : sums) samples.push_back(sum);
  std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
    if (waits(a) != waits(b)) return waits(a);
    return a.thread != b.thread ? a.thread < b.thread : a.stack < b.stack;
  });
  return samples;
}

std::vector<nanoseconds> Window::cpu_per_second(std::size_t seconds) const {
  std::vector<nanoseconds> result;
  const std::size_t kept = std::min(seconds, seconds_.size());
  for (std::size_t at = seconds_.size() - kept; at < seconds_.size(); ++at) {
    nanoseconds cpu{0};
    for (const auto& [key, sum] : seconds_[at].sums) cpu += sum.cpu;
    result.push_back(cpu);
  }
  return result;
}

nanoseconds Window::covered(std::size_t seconds) const {
  if (seconds_.empty()) return nanoseconds(0);
  const std::size_t kept = std::min(seconds, seconds_.size());
  const nanoseconds from = begin_ + seconds_[seconds_.size() - kept].number * 1s;
  return std::max(end_ - from, nanoseconds(0));
}

}  // namespace swipr::live
