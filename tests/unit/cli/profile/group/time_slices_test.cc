#include "cli/profile/group/time_slices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/golden/golden_recording.h"

namespace swipr::profile {
namespace {

using namespace std::chrono_literals;

Recording make_recording(int samples) {
  Recording recording;
  recording.threads.resize(1);
  recording.stacks.resize(2);
  for (int index = 1; index <= samples; ++index) {
    recording.samples.push_back({100s + index * 10ms, 0, 0, State::kRunning, 1, 10ms, 0ns, 10ms});
  }
  return recording;
}

TEST(SliceSamples, KeepsEveryWeight) {
  const Recording recording = golden::make_golden().recording;
  Weights expected{};
  for (const Sample& sample : recording.samples) {
    for (std::size_t index = 0; index < kWeightCount; ++index) {
      expected[index] += weight_of(sample, static_cast<Weight>(index));
    }
  }
  for (std::size_t most : {1u, 3u, 1000u}) {
    Weights sums{};
    for (const SlicedRow& row : slice_samples(recording, 1000, most).rows) {
      for (std::size_t index = 0; index < kWeightCount; ++index) sums[index] += row.weights[index];
    }
    EXPECT_EQ(sums, expected);
  }
}

TEST(SliceSamples, PutsEachSampleIntoItsOwnSlice) {
  const SlicedSamples sliced = slice_samples(make_recording(10), 10, 1000);
  EXPECT_EQ(sliced.begin, 100s);
  EXPECT_EQ(sliced.duration, 100ms);
  ASSERT_EQ(sliced.rows.size(), 10u);
  for (std::uint32_t index = 0; index < 10; ++index) {
    EXPECT_EQ(sliced.rows[index].first_slice, index);
    EXPECT_EQ(sliced.rows[index].last_slice, index);
  }
}

TEST(SliceSamples, KeepsSamplesWithDifferentMarksApart) {
  const std::vector<std::uint32_t> marks = {kNone, 4, 4, 2, kNone, 4};
  const SlicedSamples sliced = slice_samples(make_recording(6), 1, 1000, marks);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> rows;
  for (const SlicedRow& row : sliced.rows) {
    rows.emplace_back(row.mark, row.weights[index_of(Weight::kSamples)]);
  }
  const decltype(rows) expected = {{kNone, 2}, {4, 3}, {2, 1}};
  EXPECT_EQ(rows, expected);
}

TEST(SliceSamples, SpansWhatALongWaitStandsFor) {
  Recording recording = make_recording(1);
  recording.samples[0].wall = 10ms;
  recording.samples.push_back({101s, 0, 1, State::kBlocked, 99, 0ns, 0ns, 990ms});
  const SlicedSamples sliced = slice_samples(recording, 100, 1000);
  ASSERT_EQ(sliced.rows.size(), 2u);
  EXPECT_EQ(sliced.rows[1].first_slice, 1u);
  EXPECT_EQ(sliced.rows[1].last_slice, 99u);
}

TEST(SliceSamples, KnowsWhereInItsSlicesASampleIs) {
  Recording recording = make_recording(3);
  recording.samples[1].time += 5ms;  // from 15 to 25 ms
  recording.samples[2].time += 20ms;
  recording.samples[0].credited = -4ms;
  recording.samples[0].wall -= 4ms;
  recording.samples[2].credited = 4ms;
  recording.samples[2].wall += 4ms;
  const SlicedSamples sliced = slice_samples(recording, 5, 1000);
  ASSERT_EQ(sliced.rows.size(), 3u);
  EXPECT_EQ(sliced.rows[0].offset, 0ms);
  EXPECT_EQ(sliced.rows[0].credited, -4ms);
  EXPECT_EQ(sliced.rows[1].first_slice, 1u);
  EXPECT_EQ(sliced.rows[1].last_slice, 2u);
  EXPECT_EQ(sliced.rows[1].offset, 5ms);
  // What was credited to it does not move its beginning.
  EXPECT_EQ(sliced.rows[2].first_slice, 4u);
  EXPECT_EQ(sliced.rows[2].offset, 0ms);
}

TEST(SliceSamples, MakesLongerSlicesUntilTheRowsFit) {
  const SlicedSamples sliced = slice_samples(make_recording(1000), 1000, 130);
  EXPECT_EQ(sliced.slice_count, 125u);
  EXPECT_EQ(sliced.rows.size(), 125u);
  EXPECT_EQ(slice_samples(make_recording(1000), 1000, 1).rows.size(), 1u);
}

TEST(SliceSamples, TakesARecordingWithoutSamples) {
  const SlicedSamples sliced = slice_samples(Recording(), 100, 100);
  EXPECT_TRUE(sliced.rows.empty());
  EXPECT_EQ(sliced.duration, 0ns);
}

}  // namespace
}  // namespace swipr::profile
