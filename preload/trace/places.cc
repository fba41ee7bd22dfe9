#include "preload/trace/places.h"

#include "preload/trace/base/atomic.h"
#include "preload/trace/calls/calls.h"
#include "preload/trace/calls/pool.h"
#include "preload/trace/machine_places.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/replaced_code.h"

namespace swipr::trace {

namespace {

using unwind::CodePlace;

constexpr std::uint64_t kPageBytes = 4096;

struct Slot {
  Atomic<std::uint32_t> is_set;
  PlacedFunction function;
};
constinit Slot slots[kProbeCount]{};
constinit Atomic<std::uint32_t> slot_count{};  // the highest probe that was placed, plus 1

const PlacedFunction* find(std::uint32_t probe) noexcept {
  return probe < kProbeCount && slots[probe].is_set.load() != 0 ? &slots[probe].function : nullptr;
}

CodePlace original_place(CodePlace place, bool exact) noexcept {
  const std::uint64_t in_thunks =
      unwind::plain_return_address(place.pc) - reinterpret_cast<std::uint64_t>(swipr_trace_thunks);
  if (in_thunks < kPages * kPageBytes) return before_thunk(in_thunks, place, exact, &find);
  if (!exact) return place;
  if (is_in_entries(place.pc)) return before_entry(place, &find);
  const std::uint32_t count = slot_count.load();
  for (std::uint32_t probe = 0; probe < count; ++probe) {
    const PlacedFunction* const function = find(probe);
    if (function == nullptr || place.pc - function->stub >= kPageBytes) continue;
    return in_function(*function, place);
  }
  return place;
}

void restore(std::uint64_t address, std::span<std::uint8_t> bytes) noexcept {
  const std::uint32_t count = slot_count.load();
  for (std::uint32_t probe = 0; probe < count; ++probe) {
    const PlacedFunction* const function = find(probe);
    if (function == nullptr) continue;
    for (std::size_t at = 0; at < kJumpBytes; ++at) {
      const std::uint64_t index = function->plan->patch() + at - address;
      if (index < bytes.size()) bytes[index] = function->original[at];
    }
  }
}

void note_sampled(const unwind::OpenCalls& calls) noexcept {
  for (const unwind::OpenCall& call : calls.calls()) pool.calls[call.place].is_sampled.store(true);
}

constexpr unwind::ReplacedCode kReplaced{.original_place = &original_place,
                                         .restore = &restore,
                                         .add_calls = &add_calls,
                                         .note_sampled = &note_sampled};

}  // namespace

void place(std::uint32_t probe, const PlacedFunction& function) noexcept {
  slots[probe].function = function;
  slots[probe].is_set.store(1);
  if (probe >= slot_count.load()) slot_count.store(probe + 1);
  unwind::replaced_code.store(&kReplaced, std::memory_order_release);
}

void displace(std::uint32_t probe) noexcept { slots[probe].is_set.store(0); }

}  // namespace swipr::trace
