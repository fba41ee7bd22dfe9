// The traced calls that a stack is in: those that had not returned when it was taken.
// Context: signal handler or control thread.  Allocates: never.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"

namespace swipr::unwind {

// A call is known by its place in the pool of active calls and its start.
struct OpenCall {
  std::uint32_t probe = 0;  // the function's number in the process
  std::uint32_t place = 0;
  std::uint64_t start = 0;  // time stamp counter
};

// One for each function: of calls that a function makes to itself, the outermost.
class OpenCalls {
 public:
  static constexpr std::uint32_t kMost = 32;

  SWIPR_SIGNAL_SAFE void clear() noexcept { count_ = 0; }
  // Call from the inside to the outside. What comes after kMost functions is left out.
  SWIPR_SIGNAL_SAFE void add(const OpenCall& call) noexcept {
    for (std::uint32_t at = 0; at < count_; ++at) {
      if (calls_[at].probe != call.probe) continue;
      calls_[at] = call;
      return;
    }
    if (count_ < kMost) calls_[count_++] = call;
  }
  SWIPR_SIGNAL_SAFE std::span<const OpenCall> calls() const noexcept {
    return {calls_.data(), count_};
  }

 private:
  std::uint32_t count_ = 0;
  std::array<OpenCall, kMost> calls_;
};

}  // namespace swipr::unwind
