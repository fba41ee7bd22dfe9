#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/profile/filter.h"

namespace swipr::profile {
namespace {

using testing::ElementsAre;

// Sample N has N ticks.
Recording make_labelled() {
  Recording recording;
  recording.label_sets = {
      {{"endpoint", "/cart"}, {"tenant", "acme"}}, {{"endpoint", "/home"}}, {{"tenant", "other"}}};
  recording.threads.emplace_back();
  for (const std::uint32_t labels : {0u, 1u, 2u, kNone}) {
    Sample sample;
    sample.labels = labels;
    sample.ticks = recording.samples.size();
    recording.samples.push_back(sample);
  }
  return recording;
}

std::vector<std::uint64_t> kept(const std::vector<LabelPattern>& patterns) {
  Recording recording = make_labelled();
  keep_labels(recording, patterns);
  std::vector<std::uint64_t> numbers;
  for (const Sample& sample : recording.samples) numbers.push_back(sample.ticks);
  return numbers;
}

TEST(KeepLabels, ChoosesByPatternOfTheValue) {
  EXPECT_THAT(kept({{"endpoint", "/cart"}}), ElementsAre(0));
  EXPECT_THAT(kept({{"endpoint", "/*"}}), ElementsAre(0, 1));
  EXPECT_THAT(kept({{"tenant", "[ao]*"}}), ElementsAre(0, 2));
  EXPECT_THAT(kept({{"tenant", "ac"}}), ElementsAre());
  EXPECT_THAT(kept({}), ElementsAre(0, 1, 2, 3));
}

TEST(KeepLabels, NeedsOnePatternOfEachKey) {
  EXPECT_THAT(kept({{"endpoint", "/cart"}, {"endpoint", "/home"}}), ElementsAre(0, 1));
  EXPECT_THAT(kept({{"endpoint", "/*"}, {"tenant", "acme"}}), ElementsAre(0));
}

TEST(KeepLabels, AnEmptyPatternMatchesSamplesWithoutTheKey) {
  EXPECT_THAT(kept({{"tenant", ""}}), ElementsAre(1, 3));
  EXPECT_THAT(kept({{"tenant", "*"}}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(kept({{"tenant", "?*"}}), ElementsAre(0, 2));
}

TEST(SelectLabels, RemovesOthersAndJoinsWhatBecomesEqual) {
  Recording recording = make_labelled();
  recording.label_sets[1] = {{"endpoint", "/home"}, {"tenant", "acme"}};
  select_labels(recording, {"tenant"});
  EXPECT_THAT(recording.label_sets,
              ElementsAre(LabelSet{{"tenant", "acme"}}, LabelSet{{"tenant", "other"}}));
  std::vector<std::uint32_t> labels;
  for (const Sample& sample : recording.samples) labels.push_back(sample.labels);
  EXPECT_THAT(labels, ElementsAre(0u, 0u, 1u, kNone));
  select_labels(recording, {});
  EXPECT_TRUE(recording.label_sets.empty());
  EXPECT_EQ(recording.samples[0].labels, kNone);
}

}  // namespace
}  // namespace swipr::profile
