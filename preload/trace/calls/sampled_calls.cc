#include "preload/trace/calls/sampled_calls.h"

#include "preload/trace/calls/pool.h"

namespace swipr::trace {

// Hooks read it at any moment, so nothing constructs it.
constinit SampledCalls sampled_calls{};

bool prepare_sampled_calls() noexcept {
  SampledCalls& all = sampled_calls;
  if (all.states != nullptr) return true;
  struct Memory {
    SampledCall calls[kSampledCallCount];
    Atomic<KeptState> states[kSampledCallCount];
  };
  auto* const memory = static_cast<Memory*>(map_pool_memory(sizeof(Memory)));
  if (memory == nullptr) return false;
  all.calls = memory->calls;
  all.states = memory->states;
  return true;
}

void forget_sampled_calls() noexcept {
  SampledCalls& all = sampled_calls;
  for (std::size_t at = 0; all.states != nullptr && at < kSampledCallCount; ++at) {
    all.states[at].store(KeptState::kFree);
  }
}

std::uint64_t ns_between(std::uint64_t from, std::uint64_t to) noexcept {
  const std::uint64_t ticks = to > from ? to - from : 0;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(ticks) * pool.ns_per_tick >> 32);
}

std::uint64_t stamp_now() noexcept { return read_ticks(); }

}  // namespace swipr::trace
