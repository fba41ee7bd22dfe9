// When slices begin, which processes are recorded in them, and how often. Pure.
#pragma once

#include <chrono>

namespace swipr::fleet {

using std::chrono::nanoseconds;

// The end of the slice that `now` is in. Slices are aligned to the clock, so that those of all
// hosts begin at the same time and a store draws them as one point.
constexpr nanoseconds end_of_slice(nanoseconds now, nanoseconds slice) {
  return now - now % slice + slice;
}

// A process at the beginning of a slice.
struct Usage {
  nanoseconds cpu{0};       // that it used in the slice before
  nanoseconds overhead{0};  // CPU time of swipr's thread in it in the slice before
};

// An idle process costs 0.23 % of a CPU at 11 Hz, so that 500 of them cost more than one CPU.
inline constexpr nanoseconds kLeastCpu = std::chrono::milliseconds(10);

// Whether the process is to be recorded: it used enough CPU time in the last slice, beside what its
// recording used. That alone is more than the least in 15 s.
constexpr bool is_worth_recording(const Usage& usage) {
  return usage.cpu - usage.overhead >= kLeastCpu;
}

// CPU time that the kernel shows and no stack explains; never negative, because the two clocks are
// read one after the other.
constexpr nanoseconds not_recorded(nanoseconds by_kernel, nanoseconds by_stacks) {
  return by_kernel > by_stacks ? by_kernel - by_stacks : nanoseconds(0);
}

}  // namespace swipr::fleet
