// Unwinders pass thunks: libgcc's (exceptions, backtrace), libunwind and swipr's own.
#include <execinfo.h>
#include <gtest/gtest.h>
#include <unwind.h>

#include <algorithm>
#include <vector>

#include "preload/trace/calls/pool.h"
#include "tests/unit/preload/trace/traced.h"
#include "tests/unit/preload/trace/traced_functions.h"
#include "tests/unit/preload/trace/unwinders.h"

namespace swipr::trace {
namespace {

bool is_thunk(std::uint64_t address) { return real_return_address(address) != address; }

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* out) {
  static_cast<Addresses*>(out)->push_back(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}

void walk_with_libgcc(void* out) { _Unwind_Backtrace(&add_frame, out); }

// The callers of the walk, from call_inside() on, without thunks.
Addresses callers(Walk walk, long (*call)(int, Walk, void*)) {
  Addresses all;
  call(4, walk, &all);
  for (std::size_t index = 0; index + 1 < all.size(); ++index) {
    if (is_thunk(all[index])) ++all[index + 1];  // a return address minus one, by design
  }
  std::erase_if(all, &is_thunk);
  all.erase(all.begin(), all.begin() + std::min<std::ptrdiff_t>(2, std::ssize(all)));
  return all;
}

[[gnu::noinline]] long through_tail(int, Walk walk, void* out) {
  const long result = tail_first(walk, out);
  asm volatile("");
  return result;
}

class Unwinders : public testing::TestWithParam<Walk> {};

TEST_P(Unwinders, SeeTheCallersOfTracedFunctions) {
  // From one place: its return address is the same.
  std::vector<Addresses> seen;
  for (int traced = 0; traced < 2; ++traced) {
    alignas(Traced) std::byte place[sizeof(Traced)];
    Traced* const trace = traced != 0 ? new (place) Traced(&call_inside) : nullptr;
    seen.push_back(callers(GetParam(), &call_inside));
    if (trace != nullptr) trace->~Traced();
  }
  EXPECT_GE(seen[0].size(), 8u);
  EXPECT_EQ(seen[0], seen[1]);
}

TEST_P(Unwinders, SeeTheCallersOfTailCalls) {
  std::vector<Addresses> seen;
  for (int traced = 0; traced < 2; ++traced) {
    alignas(Traced) std::byte places[2][sizeof(Traced)];
    Traced* const first = traced != 0 ? new (places[0]) Traced(&tail_first) : nullptr;
    Traced* const second = traced != 0 ? new (places[1]) Traced(&tail_second) : nullptr;
    seen.push_back(callers(GetParam(), &through_tail));
    if (first != nullptr) first->~Traced();
    if (second != nullptr) second->~Traced();
  }
  EXPECT_GE(seen[0].size(), 4u);
  EXPECT_EQ(seen[0], seen[1]);
}

INSTANTIATE_TEST_SUITE_P(Libgcc, Unwinders, testing::Values(&walk_with_libgcc));
INSTANTIATE_TEST_SUITE_P(Others, Unwinders, testing::ValuesIn(other_unwinders()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Unwinders);

TEST(TracedUnwinding, ReturnAddressesAreTranslated) {
  const Traced traced(&call_inside);
  Addresses all;
  call_inside(4, &walk_with_libgcc, &all);
  EXPECT_EQ(std::ranges::count_if(all, &is_thunk), 5);
  for (std::size_t index = 0; index + 1 < all.size(); ++index) {
    // The caller's frame follows.
    if (!is_thunk(all[index])) continue;
    EXPECT_EQ(real_return_address(all[index]), all[index + 1] + 1);
  }
  EXPECT_EQ(real_return_address(0), 0u);
  EXPECT_EQ(real_return_address(entry_of(0)), entry_of(0));
}

}  // namespace
}  // namespace swipr::trace
