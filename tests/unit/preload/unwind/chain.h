// Functions whose frames only CFI can follow: optimised, without frame pointers, each of its own
// code.
#pragma once

#include <cstddef>

namespace swipr::unwind {

using Callback = void (*)(void* state);

inline constexpr int kChainLength = 30;

// Each calls through the shape in its name and calls `callback` from the innermost function.
void call_through_chain(Callback callback, void* state);  // kChainLength distinct functions
void call_through_recursion(unsigned depth, Callback callback, void* state);
void call_through_realigned_frame(std::size_t bytes, Callback callback, void* state);
void call_through_qsort(Callback callback, void* state);

}  // namespace swipr::unwind
