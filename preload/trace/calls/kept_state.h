// A place in which a hook leaves something for the control thread. A hook takes a free place, fills
// it and marks it as done. A place of a thread that is cancelled in its hook stays taken, and no
// other waits for it.
#pragma once

#include <cstdint>

#include "preload/trace/base/atomic.h"

namespace swipr::trace {

enum class KeptState : std::uint32_t { kFree, kTaken, kDone };

// A hook's. False: another one has it.
inline bool try_take(Atomic<KeptState>& state) noexcept {
  KeptState free = KeptState::kFree;
  return state.load() == KeptState::kFree && state.compare_exchange(free, KeptState::kTaken);
}

// One of the places from `next` on, of which few are tried. `count`: these are in use.
inline std::size_t take_next_place(Atomic<KeptState>* states, std::size_t count,
                                   Atomic<std::uint32_t>& next) noexcept {
  constexpr unsigned kMostLooks = 16;
  for (unsigned looks = 0; looks < kMostLooks; ++looks) {
    const std::size_t place = next.fetch_add(1) % count;
    if (try_take(states[place])) return place;
  }
  return count;
}

}  // namespace swipr::trace
