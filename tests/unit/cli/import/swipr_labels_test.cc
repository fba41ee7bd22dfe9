// Labels of threads in a recording that is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/profile/filter.h"
#include "common/wire/labels.h"
#include "common/wire/sampled_calls.h"
#include "common/wire/traced_calls.h"
#include "tests/unit/cli/import/read_back.h"
#include "tests/unit/cli/import/swipr_file.h"

namespace swipr {
namespace {

using test::begin;
using test::read;
using test::SwiprFile;
using testing::ElementsAre;
using wire::Encoder;

void stack(Encoder& out, std::uint64_t id, std::uint64_t set, std::uint64_t pc = 0x10010) {
  const std::vector<wire::FrameEntry> frames = {{pc, wire::FrameSource::kContext, true}};
  encode(out, wire::StackRecord{.stack_id = id}, frames);
  if (set != 0) encode(out, wire::StackLabelsRecord{.stack_id = id, .set = set});
}

void labels(Encoder& out, std::uint64_t set, std::string_view value) {
  const wire::LabelText texts[] = {{"tenant", value}, {"a", "1"}};
  encode_labels(out, set, texts);
}

void tick(Encoder& out, std::uint64_t stack_id, bool same_stack = false) {
  wire::TickEncoder ticks(out, 1'000'000);
  ticks.put({.thread_index = 0, .stack_id = stack_id, .wall_ns = 1'000'000}, same_stack, false);
  ticks.end();
}

// The tenant of each sample; empty: none.
std::vector<std::string> tenants(const profile::Recording& recording) {
  std::vector<std::string> found;
  for (const profile::Sample& sample : recording.samples) {
    const std::string* const value =
        sample.labels == profile::kNone
            ? nullptr
            : profile::find_label(recording.label_sets.at(sample.labels), "tenant");
    found.push_back(value == nullptr ? "" : *value);
  }
  return found;
}

TEST(SwiprLabels, BelongToTheSamplesOfTheirStacks) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    labels(out, 1, "acme");
    labels(out, 2, "other");
    stack(out, 1, 0);
    stack(out, 2, 1);
    stack(out, 3, 2);
    tick(out, 1);
    tick(out, 2);
    tick(out, 0, true);
    tick(out, 3);
    tick(out, 1);
  });
  const profile::Recording recording = read(file.bytes());
  EXPECT_THAT(tenants(recording), ElementsAre("", "acme", "acme", "other", ""));
  EXPECT_EQ(recording.stacks.size(), 1u) << "one stack, whatever the labels are";
  EXPECT_EQ(recording.label_sets.at(0).front().first, "a") << "in the order of keys";
}

TEST(SwiprLabels, IdsCanBeDefinedAnew) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    labels(out, 1, "acme");
    stack(out, 1, 1);
    tick(out, 1);
    labels(out, 1, "other");
    tick(out, 1);
    stack(out, 1, 0);
    tick(out, 0, true);  // as the entry before, whose labels have not changed
    tick(out, 1);
    stack(out, 1, 1);
    tick(out, 1);
    stack(out, 2, 99);  // a set that is not known
    tick(out, 2);
  });
  EXPECT_THAT(tenants(read(file.bytes())), ElementsAre("acme", "acme", "acme", "", "other", ""));
}

TEST(SwiprLabels, OfSourcesAndOfFilesAreApart) {
  SwiprFile file;
  for (std::uint32_t source = 0; source < 2; ++source) {
    file.block(source, [source](Encoder& out) {
      begin(out);
      labels(out, 1, source == 0 ? "acme" : "other");
      stack(out, 1, 1);
      tick(out, 1);
    });
  }
  profile::Recording recording = read(file.bytes());
  EXPECT_THAT(tenants(recording), ElementsAre("acme", "other"));
  SwiprFile third;
  third.block(0, [](Encoder& out) {
    begin(out);
    labels(out, 1, "third");
    stack(out, 1, 1);
    tick(out, 1);
    tick(out, 0);
  });
  profile::append(recording, read(third.bytes()), profile::Align::kRealTime);
  EXPECT_THAT(tenants(recording), testing::UnorderedElementsAre("acme", "other", "third", ""));
}

TEST(SwiprLabels, AreThoseOfTheBaseOfAStackWithinCalls) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    encode(out, wire::ProbeRecord{.probe = 0});
    labels(out, 1, "acme");
    stack(out, 1, 1);
    wire::StackCallsRecord within{.stack_id = 2, .base_id = 1};
    within.call_count = 1;
    encode(out, within);
    tick(out, 2);
    within.stack_id = 4;
    within.base_id = 3;
    stack(out, 3, 0);
    encode(out, within);
    tick(out, 4);
  });
  EXPECT_THAT(tenants(read(file.bytes())), ElementsAre("acme", ""));
}

TEST(SwiprLabels, LossesAreWarnings) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    wire::TotalsEncoder totals(out, 1);
    totals.put(wire::counter::kLabelsLost, 3);
    totals.put(wire::counter::kLabelsCut, 4);
    totals.end();
    encode(out, wire::EndRecord{});
  });
  EXPECT_THAT(read(file.bytes()).warnings,
              ElementsAre(testing::HasSubstr("3 labels of threads were lost"),
                          testing::HasSubstr("4 values of labels were cut")));
}

}  // namespace
}  // namespace swipr
