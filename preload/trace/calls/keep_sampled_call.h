// The hooks' part of sampled_calls.h. Included by hooks.cc only, as it is compiled for them.
#pragma once

#include "preload/trace/calls/sampled_calls.h"

namespace swipr::trace {

[[gnu::noinline]] void keep_sampled_call(std::uint32_t number, std::uint64_t ns,
                                         bool unwound) noexcept {
  SampledCalls& all = sampled_calls;
  if (all.states == nullptr) return;
  const std::size_t place = take_next_place(all.states, kSampledCallCount, all.next);
  if (place == kSampledCallCount) {
    all.lost.fetch_add(1);
    return;
  }
  const Call& call = pool.calls[number];
  all.calls[place] = {
      .start = call.start, .ns = ns, .place = number, .probe = call.probe, .unwound = unwound};
  all.states[place].store(KeptState::kDone);
}

}  // namespace swipr::trace
