// CPU time of one process: what the kernel charged, what stacks explain, and why the rest has none.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace swipr::fleet {

// Why CPU time has no stack.
enum class Unrecorded : std::uint8_t {
  kIdle,      // too little for a recording
  kStarting,  // before the recording began
  kEnded,     // after the last tick of the recording
  kSwipr,     // swipr's own thread
  kRefused,   // the process does not record
  kLost,      // between two ticks that were dropped or skipped
};
inline constexpr std::size_t kUnrecordedCount = 6;
// "idle", "starting", "ended", "swipr", "refused", "lost"
std::string_view unrecorded_name(Unrecorded reason);

// CPU times of a process, from its beginning.
struct CpuTimes {
  std::chrono::nanoseconds kernel{0};    // charged to it; 0: not visible here
  std::chrono::nanoseconds recorded{0};  // sum of all samples
  std::chrono::nanoseconds swipr{0};     // of swipr's thread, as far as the streams said
};

// What is known at the end of a slice. Times grow from one to the next.
struct CpuReading {
  CpuTimes now;
  // When the open recording began, which may bring samples of all later time; else equal to `now`.
  CpuTimes settled;
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

  // The CPU time that no stack explains and no sample will. Recorded and unrecorded time of all
  // slices add up to what the kernel charged, except for what an open recording may still bring.
  CpuShares close_slice(const CpuReading& reading);

  std::chrono::nanoseconds kernel() const { return kernel_; }  // so far, since the beginning
  std::chrono::nanoseconds recorded() const { return recorded_; }
  std::chrono::nanoseconds unrecorded() const { return swipr_ + other_; }

 private:
  std::chrono::nanoseconds before_;
  std::chrono::nanoseconds kernel_{0};
  std::chrono::nanoseconds recorded_{0};
  std::chrono::nanoseconds swipr_{0};
  std::chrono::nanoseconds other_{0};
};

}  // namespace swipr::fleet
