// CPU time of one process: what the kernel charged, what stacks explain, and why the rest has none.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string_view>

namespace swipr::fleet {

// Why CPU time has no stack.
enum class Unrecorded : std::uint8_t {
  kIdle,      // too little for a recording
  kStarting,  // before the recording began
  kEnded,     // after its last tick
  kSwipr,     // swipr's own thread
  kRefused,   // the process does not record
  kLost,      // between two ticks that were dropped or skipped
};
inline constexpr std::size_t kUnrecordedCount = 6;
// "idle", "starting", "ended", "swipr", "refused", "lost"
std::string_view unrecorded_name(Unrecorded reason);

// What is known at the end of a slice. Counters grow from one to the next.
struct CpuReading {
  std::chrono::nanoseconds kernel{0};    // of the process; 0: not visible here
  std::chrono::nanoseconds recorded{0};  // sum of all samples so far
  std::chrono::nanoseconds swipr{0};     // of swipr's thread, as far as the stream said
  std::chrono::nanoseconds time{0};      // when `kernel` was read; the clock of all readings
  std::chrono::nanoseconds delay{
      0};  // samples of CPU time come within this; 0: none comes any more
  Unrecorded reason = Unrecorded::kLost;  // of what is not swipr's own
};

// Shares of a slice, never negative.
struct CpuShares {
  std::chrono::nanoseconds swipr{0};
  std::chrono::nanoseconds other{0};
  Unrecorded reason = Unrecorded::kLost;  // of `other`
  std::chrono::nanoseconds sum() const { return swipr + other; }
};

class CpuLedger {
 public:
  // `kernel`: CPU time of the process before it is accounted for.
  explicit CpuLedger(std::chrono::nanoseconds kernel) : before_(kernel) {}

  // A reading of the process's clock between slices. Times ascend.
  void note_kernel(std::chrono::nanoseconds time, std::chrono::nanoseconds kernel);
  // The CPU time that no stack explains. Recorded and unrecorded time of all slices add up to what
  // the kernel charged, except for what samples may still bring.
  CpuShares close_slice(const CpuReading& reading);

  std::chrono::nanoseconds kernel() const { return kernel_; }  // so far, since the beginning
  std::chrono::nanoseconds recorded() const { return recorded_; }
  std::chrono::nanoseconds unrecorded() const { return swipr_ + other_; }

 private:
  struct Charged {
    std::chrono::nanoseconds time;
    std::chrono::nanoseconds kernel;
  };
  std::chrono::nanoseconds charged_until(std::chrono::nanoseconds time);

  std::deque<Charged> charged_{};  // in order of time
  std::chrono::nanoseconds before_;
  std::chrono::nanoseconds kernel_{0};
  std::chrono::nanoseconds recorded_{0};
  std::chrono::nanoseconds swipr_{0};
  std::chrono::nanoseconds other_{0};
};

}  // namespace swipr::fleet
