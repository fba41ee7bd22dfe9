// CPU time that may go into one index. Debug information can be made so that reading it takes
// hours: thousands of functions may share one list of a million ranges, say.
#pragma once

#include <time.h>

#include <chrono>
#include <thread>

namespace swipr::symbolize {

// Thread: one at a time. The time of whichever thread uses it last counts.
class WorkLimit {
 public:
  explicit WorkLimit(std::chrono::nanoseconds limit) : limit_(limit) {}

  // A step of work. True, from then on: it was too much. Looks at the clock now and then.
  bool step() {
    constexpr unsigned kStepsBetweenLooks = 1024;
    if (!exceeded_ && ++steps_ % kStepsBetweenLooks == 0) look();
    return exceeded_;
  }
  // Before work of unknown length.
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
