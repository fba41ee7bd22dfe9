// Limits the CPU time of one index. Crafted debug information could take hours, for example with
// thousands of functions that share a list of a million ranges.
#pragma once

#include <time.h>

#include <chrono>
#include <thread>

namespace swipr::symbolize {

// Thread: one at a time. Measures the CPU time of the thread that used it last.
class WorkLimit {
 public:
  explicit WorkLimit(std::chrono::nanoseconds limit) : limit_(limit) {}

  // Counts a step of work and reads the clock occasionally. Returns true once the limit is
  // exceeded.
  bool step() {
    constexpr unsigned kStepsBetweenLooks = 1024;
    if (!exceeded_ && ++steps_ % kStepsBetweenLooks == 0) look();
    return exceeded_;
  }
  // Call before work of unknown length.
  bool look() {
    const auto now = thread_cpu_time();
    if (user_ != std::this_thread::get_id()) {
      user_ = std::this_thread::get_id();
      start_ = now;
    }
    exceeded_ = exceeded_ || now - start_ > limit_;
    return exceeded_;
  }
  bool exceeded() const { return exceeded_; }

 private:
  static std::chrono::nanoseconds thread_cpu_time() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  }

  std::chrono::nanoseconds limit_;
  std::chrono::nanoseconds start_{0};
  std::thread::id user_;
  unsigned steps_ = 0;
  bool exceeded_ = false;
};

}  // namespace swipr::symbolize
