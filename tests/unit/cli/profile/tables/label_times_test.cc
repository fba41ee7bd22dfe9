#include "cli/profile/tables/label_times.h"

#include <gtest/gtest.h>

#include "cli/profile/group/aggregate.h"

namespace swipr::profile {
namespace {

using namespace std::chrono_literals;

Recording make_recording() {
  Recording recording;
  recording.label_sets = {{{"endpoint", "/cart"}, {"tenant", "acme"}}, {{"endpoint", "/home"}}, {}};
  recording.threads.emplace_back();
  recording.stacks.emplace_back();
  const auto add = [&recording](std::uint32_t labels, std::chrono::nanoseconds cpu,
                                std::chrono::nanoseconds wall) {
    Sample sample;
    sample.stack = 0;
    sample.labels = labels;
    sample.state = wall > cpu ? State::kBlocked : State::kRunning;
    sample.cpu = cpu;
    sample.wall = wall;
    recording.samples.push_back(sample);
  };
  add(0, 1ms, 10ms);
  add(1, 5ms, 5ms);
  add(0, 2ms, 2ms);
  add(kNone, 4ms, 4ms);
  return recording;
}

TEST(LabelTimes, AddUpToTheWholeForEachKey) {
  const auto times = label_times(make_recording());
  ASSERT_EQ(times.size(), 5u);
  const auto expect = [&times](std::size_t index, std::string_view key, std::string_view value,
                               std::uint64_t samples, std::chrono::nanoseconds cpu) {
    EXPECT_EQ(times[index].key, key);
    EXPECT_EQ(times[index].value, value);
    EXPECT_EQ(times[index].samples, samples);
    EXPECT_EQ(times[index].cpu, cpu);
  };
  expect(0, "endpoint", "/home", 1, 5ms);
  expect(1, "endpoint", "", 1, 4ms);
  expect(2, "endpoint", "/cart", 2, 3ms);
  expect(3, "tenant", "", 2, 9ms);
  expect(4, "tenant", "acme", 2, 3ms);
  EXPECT_EQ(times[2].blocked, 9ms);
}

TEST(LabelTimes, AreNoneWithoutLabels) {
  Recording recording = make_recording();
  recording.label_sets.clear();
  for (Sample& sample : recording.samples) sample.labels = kNone;
  EXPECT_TRUE(label_times(recording).empty());
}

TEST(Aggregate, KeepsLabelsApartOnlyIfAsked) {
  const Recording recording = make_recording();
  EXPECT_EQ(aggregate(recording, {.by_state = false}).size(), 1u);
  const auto merged = aggregate(recording, {.by_state = false, .by_labels = true});
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].labels, 0u);
  EXPECT_EQ(merged[0].weights[index_of(Weight::kCpu)], 3'000'000u);
  EXPECT_EQ(merged[2].labels, kNone);
}

}  // namespace
}  // namespace swipr::profile
