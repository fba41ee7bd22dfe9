#pragma once

#include "preload/trace/calls/calls.h"
#include "preload/trace/calls/pool.h"
#include "preload/trace/places.h"
#include "preload/unwind/base/replaced_code.h"

namespace swipr::trace {

namespace {

using unwind::CodePlace;
using FindFunction = const PlacedFunction* (*)(std::uint32_t probe) noexcept;

// A thunk has a call (6 bytes), a push (5) and a jump.
inline CodePlace before_thunk(std::uint64_t distance, CodePlace place, bool exact,
                              FindFunction find) noexcept {
  const auto number = static_cast<std::uint32_t>(distance / kThunkBytes);
  const std::uint64_t at = distance % kThunkBytes;
  constexpr std::uint64_t kWord = 8;
  if (exact && at == 0) {
    const PlacedFunction* const function = find(pool.calls[number].probe);
    if (function != nullptr) return {function->plan->function, place.stack - kWord};
  }
  const bool has_pushed = exact && at > kThunkReturn;
  return {real_return_address(place.pc), place.stack + (has_pushed ? kWord : 0)};
}

inline bool is_in_entries(std::uint64_t pc) noexcept {
  return pc - reinterpret_cast<std::uint64_t>(swipr_trace_entries) < SWIPR_TRACE_ENTRY_BYTES;
}

// An entry has a push and a jump.
inline CodePlace before_entry(CodePlace place, FindFunction find) noexcept {
  const std::uint64_t distance = place.pc - reinterpret_cast<std::uint64_t>(swipr_trace_entries);
  const PlacedFunction* const function = find(static_cast<std::uint32_t>(distance / kEntryBytes));
  if (function == nullptr) return place;
  const bool has_pushed = distance % kEntryBytes != 0;
  return {function->plan->function, place.stack + (has_pushed ? 8 : 0)};
}

// The stub takes the pushes before the patch back, then jumps; the copy is behind it.
inline CodePlace in_function(const PlacedFunction& function, CodePlace place) noexcept {
  const Plan& plan = *function.plan;
  if (place.pc == function.stub) return {plan.patch(), place.stack};
  if (place.pc < function.copy) return {plan.function, place.stack};
  const bool has_pushed = plan.has_pushed_in_copy(place.pc, function.copy);
  return {plan.original_pc(place.pc, function.copy), place.stack + (has_pushed ? 8 : 0)};
}

// With those that it was jumped to from. A word that is left over from an earlier call is not where
// the call of that thunk keeps its return address.
inline void add_calls(std::uint64_t address, std::uint64_t word, unwind::OpenCalls& out) noexcept {
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

}  // namespace

}  // namespace swipr::trace
