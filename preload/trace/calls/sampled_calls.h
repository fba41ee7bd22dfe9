// Ends of calls that samples have met, from the hooks to the control thread.
//
// A stack is taken while its calls are open, so whether a call was sampled is known when it ends
// (Call::is_sampled). Few are: as many as there are samples, not as there are calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/trace/calls/calls.h"
#include "preload/trace/calls/kept_state.h"

namespace swipr::trace {

inline constexpr std::size_t kSampledCallCount = 4096;

struct SampledCall {
  std::uint64_t start;  // time stamp counter
  std::uint64_t ns;
  std::uint32_t place;  // in the pool
  std::uint32_t probe;
  bool unwound;
};

struct SampledCalls {
  Atomic<KeptState>* states;  // kSampledCallCount; nullptr: never asked for
  SampledCall* calls;
  Atomic<std::uint32_t> next;  // where the search for a free place begins
  Atomic<std::uint64_t> lost;  // ends for which there was no place
};
extern SampledCalls sampled_calls;

// --- the control thread
// Before calls_are_followed is set. False: no memory.
bool prepare_sampled_calls() noexcept;
// Takes those that have ended since: calls use(call).
template <typename Use>
void take_sampled_calls(Use&& use) noexcept {
  SampledCalls& all = sampled_calls;
  for (std::size_t at = 0; all.states != nullptr && at < kSampledCallCount; ++at) {
    if (all.states[at].load() != KeptState::kDone) continue;
    const SampledCall call = all.calls[at];
    all.states[at].store(KeptState::kFree);
    use(call);
  }
}
// In the child of a fork, in its only thread.
void forget_sampled_calls() noexcept;

// A time stamp as nanoseconds since another one; 0: it is earlier.
std::uint64_t ns_between(std::uint64_t from, std::uint64_t to) noexcept;
std::uint64_t stamp_now() noexcept;

}  // namespace swipr::trace
