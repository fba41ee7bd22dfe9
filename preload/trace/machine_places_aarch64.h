#pragma once

#include "preload/trace/calls/calls.h"
#include "preload/trace/calls/pool.h"
#include "preload/trace/places.h"
#include "preload/unwind/base/replaced_code.h"

namespace swipr::trace {

namespace {

using unwind::CodePlace;
using FindFunction = const PlacedFunction* (*)(std::uint32_t probe) noexcept;

constexpr std::uint64_t kPushedBytes = 16;  // x16 and x17

// A thunk calls, with x16 and x17 pushed; what it called has popped them.
inline CodePlace before_thunk(std::uint64_t distance, CodePlace place, bool exact,
                              FindFunction find) noexcept {
  if (exact && distance % kThunkBytes == 0) {
    const auto number = static_cast<std::uint32_t>(distance / kThunkBytes);
    const PlacedFunction* const function = find(pool.calls[number].probe);
    if (function != nullptr) return {function->plan->function, place.stack + kPushedBytes};
  }
  return {real_return_address(place.pc), place.stack};
}

// The stub leads to the common entry, which has call frame information.
inline bool is_in_entries(std::uint64_t) noexcept { return false; }
inline CodePlace before_entry(CodePlace place, FindFunction) noexcept { return place; }

// The stub's first instruction undoes what is before the patch, its second one pushes; the last one
// before the copy pops.
inline CodePlace in_function(const PlacedFunction& function, CodePlace place) noexcept {
  constexpr std::uint64_t kPush = 4;
  const Plan& plan = *function.plan;
  if (place.pc == function.stub) return {plan.patch(), place.stack};
  if (place.pc >= function.copy) return {plan.original_pc(place.pc, function.copy), place.stack};
  const bool has_pushed = place.pc > function.stub + kPush;
  return {plan.function, place.stack + (has_pushed ? kPushedBytes : 0)};
}

// With those that it was jumped to from.
inline void add_call(std::uint32_t number, unwind::OpenCalls& out) noexcept {
  for (unsigned looks = 0; looks <= kMostTails && number != 0; ++looks) {
    const Call& call = pool.calls[number];
    if (call.start != 0) out.add({.probe = call.probe, .place = number, .start = call.start});
    number = call.tail;
  }
}

inline bool is_open(const Call& call) noexcept {
  const CallState state = call.state.load();
  return state == CallState::kOpen || state == CallState::kLeft;
}

// A thread's list begins with its youngest call. Where threads exchange stacks, it has calls of
// others, too, which belong to no frame.
inline void add_calls(std::int32_t tid, const unwind::StackOfCalls& stack,
                      unwind::OpenCalls& out) noexcept {
  const ThreadCalls* const thread = calls_of_thread(tid);
  std::uint32_t number = thread != nullptr ? thread->youngest : 0;
  std::size_t frame = 0;
  for (std::size_t looks = 0; looks < kCallCount && number != 0; ++looks) {
    const Call& call = pool.calls[number];
    const auto slot = reinterpret_cast<std::uint64_t>(call.slot);
    if (is_open(call) && !call.is_tail && slot >= stack.begin && slot <= stack.end) {
      while (frame < stack.pointers.size() && stack.pointers[frame] < slot) ++frame;
      const bool is_frames = frame < stack.pointers.size() && stack.pointers[frame] == slot &&
                             stack.pcs[frame] == swipr_trace_returns[number].address_minus_1 + 1;
      if (is_frames || stack.pointers.empty()) add_call(number, out);
    }
    number = call.previous;
  }
}

}  // namespace

}  // namespace swipr::trace
