// Functions that are traced do what they do, and each call is counted.
#include <gtest/gtest.h>
#include <setjmp.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "preload/trace/calls/pool.h"
#include "tests/unit/preload/trace/traced.h"
#include "tests/unit/preload/trace/traced_functions.h"

namespace swipr::trace {

namespace {

using TracedCall = TracedTest;

TEST_F(TracedCall, HasItsArgumentsAndResult) {
  const Traced nine(&add_nine), doubles(&add_doubles), extended(&twice), large(&make_large);
  for (long x = 0; x < 100; ++x) {
    EXPECT_EQ(add_nine(1, 2, 3, 4, 5, 6, 7, 8, x), 204 + 9 * x);
    EXPECT_EQ(add_doubles(9, 1., 2., 3., 4., 5., 6., 7., 8., static_cast<double>(x)),
              36. + static_cast<double>(x));
    EXPECT_EQ(twice(static_cast<long double>(x)), 2.0L * static_cast<long double>(x));
    EXPECT_EQ(make_large(x).values[19], x + 19);
  }
  EXPECT_EQ(nine.calls(), 100u);
  EXPECT_EQ(doubles.calls(), 100u);
  EXPECT_EQ(extended.calls(), 100u);
  EXPECT_EQ(large.calls(), 100u);
  EXPECT_EQ(opened(), 0u);
}

SWIPR_VECTOR_TARGET void expect_vectors() {
  const Vector product = multiply(vector_of(4, 3, 2, 1), vector_of(8, 7, 6, 5));
  std::array<double, 4> values;
  store(values.data(), product);
  EXPECT_EQ(values, (std::array<double, 4>{32, 21, 12, 5}));
}

TEST_F(TracedCall, KeepsVectors) {
  if (!has_vectors()) GTEST_SKIP();
  const Traced traced(&multiply);
  for (int round = 0; round < 100; ++round) expect_vectors();
  EXPECT_EQ(traced.calls(), 100u);
}

TEST_F(TracedCall, IsNotTracedAfterwards) {
  auto traced = std::make_unique<Traced>(&triple);
  EXPECT_EQ(triple(2), 6);
  EXPECT_EQ(traced->calls(), 1u);
  traced.reset();
  EXPECT_EQ(triple(2), 6);
  EXPECT_EQ(opened(), 0u);
}

TEST_F(TracedCall, TakesAsLongAsItDoes) {
  const Traced traced(&sleep_a_while);
  sleep_a_while();
  EXPECT_GE(traced.histogram().max_ns, 19'900'000u);  // 0.01 % of the clock, rounded up
  EXPECT_EQ(traced.histogram().sum_ns, traced.histogram().max_ns);
}

TEST_F(TracedCall, MayBeDeeperThanThePool) {
  const Traced traced(&recurse);
  constexpr long kDepth = static_cast<long>(kCallCount) + 1000;
  EXPECT_EQ(recurse(kDepth), kDepth);
  EXPECT_EQ(opened(), 0u);
  const Histogram sum = traced.histogram();
  EXPECT_GT(sum.untraced, 0u);
  EXPECT_EQ(traced.calls() + sum.untraced, static_cast<std::uint64_t>(kDepth) + 1);
  EXPECT_EQ(recurse(100), 100);  // the thunks are free again
  EXPECT_EQ(traced.histogram().untraced, sum.untraced);
}

TEST_F(TracedCall, MayThrow) {
  const Traced inner(&throw_sometimes), middle(&call_throwing), outer(&rethrow);
  constexpr long kRounds = 3000;
  long thrown = 0;
  for (long value = 0; value < kRounds; ++value) {
    try {
      EXPECT_EQ(rethrow(value), value + 2);
      EXPECT_NE(value % 3, 0);
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "three");
      ++thrown;
    }
  }
  EXPECT_EQ(thrown, kRounds / 3);
  for (const Traced* traced : {&inner, &middle, &outer}) {
    EXPECT_EQ(traced->calls(), static_cast<std::uint64_t>(kRounds));
    EXPECT_EQ(traced->histogram().unwound, static_cast<std::uint64_t>(thrown));
  }
  EXPECT_LE(opened(), 8u);  // of the last exception
}

void throw_inside(void*) { throw std::runtime_error("tail"); }
void do_nothing(void*) {}

// The handler's frame has the same place on the stack as the thunks of both.
TEST_F(TracedCall, MayThrowThroughTailCalls) {
  const Traced first(&tail_first), second(&tail_second);
  for (int round = 0; round < 100; ++round) {
    EXPECT_THROW(tail_first(&throw_inside, nullptr), std::runtime_error);
    EXPECT_EQ(tail_first(&do_nothing, nullptr), 2);
  }
  for (const Traced* traced : {&first, &second}) {
    EXPECT_EQ(traced->calls(), 200u);
    EXPECT_EQ(traced->histogram().unwound, 100u);
  }
  EXPECT_LE(opened(), 8u);  // of the last exception
}

TEST_F(TracedCall, MayBeLeftByLongjmp) {
  const Traced traced(&jump_out);
  for (int round = 0; round < 20'000; ++round) {
    jmp_buf place;
    if (setjmp(place) == 0) {
      jump_out(place, round % 7);
      ADD_FAILURE() << "it does not return";
    }
  }
  EXPECT_EQ(traced.histogram().untraced, 0u);
  EXPECT_LT(opened(), 100u);  // without being found, 80,000 would be in use
}

}  // namespace
}  // namespace swipr::trace
