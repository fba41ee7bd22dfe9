#include "tests/unit/preload/unwind/chain.h"

#include <alloca.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>

namespace swipr::unwind {
namespace {

volatile std::uint64_t sink;

// The code after the call prevents a tail call. The arrays, and the values that are used after the
// call, give each instance a different frame size and a different set of saved registers.
template <int kLevel>
[[gnu::noinline]] std::uint64_t chain(Callback callback, void* state, std::uint64_t a,
                                      std::uint64_t b) {
  volatile std::uint64_t scratch[1 + kLevel % 7] = {};
  scratch[0] = a * (kLevel + 3);
  std::uint64_t below = 0;
  if constexpr (kLevel == 0) {
    callback(state);
  } else {
    below = chain<kLevel - 1>(callback, state, a + b, b ^ kLevel);
  }
  if constexpr (kLevel % 3 == 0) below = below * a + sink;
  if constexpr (kLevel % 2 == 0) below ^= b;
  return below + scratch[kLevel % (1 + kLevel % 7)] + kLevel;
}

int compare(const void* left, const void* right) {
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

struct Pending {
  Callback callback;
  void* state;
};
Pending* pending = nullptr;

int compare_and_call(const void* left, const void* right) {
  if (pending != nullptr) {
    Pending* const call = pending;
    pending = nullptr;
    call->callback(call->state);
  }
  return compare(left, right);
}

}  // namespace

[[gnu::noinline]] void call_through_chain(Callback callback, void* state) {
  sink = chain<kChainLength - 1>(callback, state, sink, 7);
}

[[gnu::noinline]] void call_through_recursion(unsigned depth, Callback callback, void* state) {
  if (depth == 0) {
    callback(state);
  } else {
    call_through_recursion(depth - 1, callback, state);
  }
  sink = sink + depth;
}

[[gnu::noinline]] void call_through_realigned_frame(std::size_t bytes, Callback callback,
                                                    void* state) {
  alignas(64) volatile std::uint64_t aligned[8] = {bytes};
  auto* const variable = static_cast<volatile char*>(alloca(bytes));
  variable[bytes / 2] = 1;
  callback(state);
  sink = aligned[0] + static_cast<std::uint64_t>(variable[bytes / 2]);
}

[[gnu::noinline]] void call_through_qsort(Callback callback, void* state) {
  int numbers[] = {5, 3, 9, 1};
  Pending call{callback, state};
  pending = &call;
  std::qsort(numbers, std::size(numbers), sizeof numbers[0], &compare_and_call);
  pending = nullptr;
  sink = static_cast<std::uint64_t>(numbers[0]);
}

}  // namespace swipr::unwind
