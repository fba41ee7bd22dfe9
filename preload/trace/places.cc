#include "preload/trace/places.h"

#include "preload/trace/base/atomic.h"
#include "preload/trace/calls/calls.h"
#include "preload/trace/calls/pool.h"
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

// A thunk has a call (6 bytes), a push (5) and a jump.
CodePlace before_thunk(std::uint64_t distance, CodePlace place, bool exact) noexcept {
  const auto number = static_cast<std::uint32_t>(distance / kThunkBytes);
  const std::uint64_t at = distance % kThunkBytes;
  constexpr std::uint64_t kWord = 8;
  if (exact && at == 0) {
    const PlacedFunction* const function = find(pool.calls[number].probe);
    if (function != nullptr) return {function->plan->function, place.stack - kWord};
  }
  const bool has_pushed = exact && at > 6;
  return {real_return_address(place.pc), place.stack + (has_pushed ? kWord : 0)};
}

// An entry has a push and a jump.
CodePlace before_entry(std::uint64_t distance, CodePlace place) noexcept {
  const PlacedFunction* const function = find(static_cast<std::uint32_t>(distance / kEntryBytes));
  if (function == nullptr) return place;
  const bool has_pushed = distance % kEntryBytes != 0;
  return {function->plan->function, place.stack + (has_pushed ? 8 : 0)};
}

// The stub takes the pushes before the patch back, then jumps; the copy is behind it.
CodePlace in_function(const PlacedFunction& function, CodePlace place) noexcept {
  const Plan& plan = *function.plan;
  if (place.pc == function.stub) return {plan.patch(), place.stack};
  if (place.pc < function.copy) return {plan.function, place.stack};
  const bool has_pushed = plan.has_pushed_in_copy(place.pc, function.copy);
  return {plan.original_pc(place.pc, function.copy), place.stack + (has_pushed ? 8 : 0)};
}

CodePlace original_place(CodePlace place, bool exact) noexcept {
  const std::uint64_t in_thunks = place.pc - reinterpret_cast<std::uint64_t>(swipr_trace_thunks);
  if (in_thunks < kPages * kPageBytes) return before_thunk(in_thunks, place, exact);
  if (!exact) return place;
  const std::uint64_t in_entries = place.pc - reinterpret_cast<std::uint64_t>(swipr_trace_entries);
  if (in_entries < SWIPR_TRACE_ENTRY_BYTES) return before_entry(in_entries, place);
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

// With those that it was jumped to from. A word that is left over from an earlier call is not where
// the call of that thunk keeps its return address.
void add_calls(std::uint64_t address, std::uint64_t word, unwind::OpenCalls& out) noexcept {
  const std::uint64_t distance = word - thunk_return(0);
  if (distance >= kCallCount * kThunkBytes || distance % kThunkBytes != 0) return;
  auto number = static_cast<std::uint32_t>(distance / kThunkBytes);
  for (unsigned looks = 0; looks <= kMostTails && number != 0; ++looks) {
    const Call& call = pool.calls[number];
    const CallState state = call.state.load();
    const bool is_open = state == CallState::kOpen || state == CallState::kLeft;
    if (!is_open || reinterpret_cast<std::uint64_t>(call.slot) != address) return;
    if (call.start != 0) out.add({.probe = call.probe, .place = number, .start = call.start});
    number = call.tail;
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
