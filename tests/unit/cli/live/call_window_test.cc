#include "cli/live/call_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/core/duration_buckets.h"

namespace swipr::live {
namespace {

using namespace std::chrono_literals;

profile::Sample sample_at(std::chrono::nanoseconds time, std::uint32_t calls) {
  profile::Sample sample;
  sample.time = time;
  sample.wall = 10ms;
  sample.calls = calls;
  return sample;
}

void tell(CallWindow& window, std::chrono::nanoseconds time, std::uint32_t calls = profile::kNone) {
  const std::vector<profile::Sample> samples = {sample_at(time, calls)};
  window.add(samples);
}

TEST(CallWindow, CountsCallsOfTheLastSeconds) {
  CallWindow window;
  tell(window, 1s);
  window.add_calls({{5, 10}});
  tell(window, 3s);
  window.add_calls({{5, 12}, {7, 1}});
  window.add_calls({{5, 12}, {7, 1}});
  EXPECT_EQ(window.calls(1), (CallBuckets{{5, 2}, {7, 1}}));
  EXPECT_EQ(window.calls(10), (CallBuckets{{5, 12}, {7, 1}}));
  tell(window, 5s);
  EXPECT_TRUE(window.calls(1).empty());
  EXPECT_EQ(window.covered(1), 1s);
  EXPECT_EQ(window.covered(60), 4010ms);
}

TEST(CallWindow, KeepsSamplesInCallsOnly) {
  CallWindow window;
  tell(window, 1s, 4);
  tell(window, 2s);
  tell(window, 3s, 5);
  ASSERT_EQ(window.samples(60).size(), 2u);
  ASSERT_EQ(window.samples(1).size(), 1u);
  EXPECT_EQ(window.samples(1)[0].calls, 5u);
}

TEST(CallWindow, ForgetsWhatIsOld) {
  CallWindow window;
  tell(window, 1s, 4);
  window.add_calls({{5, 10}});
  tell(window, 100s, 5);
  EXPECT_EQ(window.samples(1'000).size(), 1u);
  EXPECT_TRUE(window.calls(1'000).empty());
}

TEST(CallWindow, HasNoMoreSamplesThanItsBound) {
  CallWindow window;
  const std::vector<profile::Sample> samples(CallWindow::kMaxSamples + 7, sample_at(1s, 4));
  window.add(samples);
  EXPECT_EQ(window.samples(60).size(), CallWindow::kMaxSamples);
}

TEST(CallWindow, KeepsCallsButNoSamplesOfAnEarlierStream) {
  CallWindow window;
  tell(window, 1s, 4);
  window.add_calls({{5, 10}});
  window.begin_stream();
  tell(window, 2s);
  window.add_calls({{5, 3}});
  EXPECT_TRUE(window.samples(60).empty());
  EXPECT_EQ(window.calls(60), (CallBuckets{{5, 13}}));
}

TEST(Histogram, HasEvenStepsFromTheShortestToTheLongestCall) {
  CallBuckets calls;
  for (int call = 0; call < 10; ++call)
    ++calls[static_cast<std::uint32_t>(bucket_of(1'000u << call))];
  const std::vector<std::uint64_t> histogram = make_histogram(calls, 10);
  EXPECT_EQ(histogram, std::vector<std::uint64_t>(10, 1));
}

TEST(Histogram, LeavesOutliersInItsEnds) {
  const auto usual = static_cast<std::uint32_t>(bucket_of(1'000));
  const auto longer = static_cast<std::uint32_t>(bucket_of(2'000));
  const auto outlier = static_cast<std::uint32_t>(bucket_of(1'000'000'000));
  const auto histogram = make_histogram({{usual, 5'000}, {longer, 5'000}, {outlier, 1}}, 4);
  EXPECT_EQ(histogram.front(), 5'000u);
  EXPECT_EQ(histogram.back(), 5'001u);
  EXPECT_TRUE(make_histogram({}, 4).empty());
  const auto one = make_histogram({{usual, 3}}, 4);
  EXPECT_EQ(std::accumulate(one.begin(), one.end(), std::uint64_t{0}), 3u);
}

}  // namespace
}  // namespace swipr::live
