#include "cli/profile/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/golden/golden_recording.h"

namespace swipr::profile {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::uint64_t sum(const Recording& recording, Weight weight) {
  std::uint64_t all = 0;
  for (const Sample& sample : recording.samples) all += weight_of(sample, weight);
  return all;
}

// Names of a stack, innermost first.
std::vector<std::string> functions_of(const golden::Golden& input, std::size_t stack) {
  std::vector<std::string> functions;
  for (std::uint32_t frame : input.recording.stacks[stack].frames) {
    for (const NamedFrame& named : input.names.frames[frame])
      functions.emplace_back(named.function);
  }
  return functions;
}

NameMatch named(std::string part) {
  return [part](std::string_view name) { return name.find(part) != name.npos; };
}

constexpr const char* kBurn = "(anonymous namespace)::burn(std::vector<int> const&)";

TEST(KeepThreadsAndStates, ChoosesThreadsByPatternAndTid) {
  Recording recording = golden::make_golden().recording;
  keep_threads_and_states(recording, {{"pool*", "102"}, {}, {}, {}});
  EXPECT_EQ(recording.samples.size(), 4u);
  keep_threads_and_states(recording, {{"no such thread"}, {}, {}, {}});
  EXPECT_THAT(recording.samples, IsEmpty());
}

TEST(KeepTimes, KeepsThePartOfASampleThatIsInside) {
  Recording recording = golden::make_golden().recording;
  // The main thread waits from 30 ms to 480 ms, in 45 ticks.
  keep_threads_and_states(recording, {{"golden"}, {}, {}, {}});
  keep_times(recording, {{}, {}, 255ms, 355ms});
  ASSERT_EQ(recording.samples.size(), 1u);
  EXPECT_EQ(recording.samples[0].wall, 100ms);
  EXPECT_EQ(recording.samples[0].ticks, 10u);
}

TEST(KeepTimes, LosesNothingBetweenNeighbouringRanges) {
  const Recording whole = golden::make_golden().recording;
  Recording early = whole;
  Recording late = whole;
  keep_times(early, {{}, {}, {}, 123ms});
  keep_times(late, {{}, {}, 123ms, {}});
  for (const Weight weight : {Weight::kCpu, Weight::kWall, Weight::kBlocked}) {
    EXPECT_EQ(sum(early, weight) + sum(late, weight), sum(whole, weight));
  }
}

TEST(MergeThreads, GivesEachProcessOneThread) {
  Recording recording = golden::make_golden().recording;
  const std::uint64_t before = sum(recording, Weight::kWall);
  merge_threads(recording);
  ASSERT_EQ(recording.threads.size(), 1u);
  EXPECT_EQ(recording.threads[0].name, "golden");
  EXPECT_EQ(sum(recording, Weight::kWall), before);
}

TEST(Append, KeepsBothRecordingsInOrderOfTime) {
  Recording recording = golden::make_golden().recording;
  Recording other = golden::make_golden().recording;
  other.processes[0].start_monotonic += 1000s;  // of another boot, at the same time
  for (Sample& sample : other.samples) sample.time += 1000s;
  append(recording, other, Align::kRealTime);
  EXPECT_EQ(recording.samples.size(), 16u);
  EXPECT_EQ(recording.samples[0].time, recording.samples[1].time);
  EXPECT_EQ(recording.samples[1].thread, 3u);
  EXPECT_EQ(recording.threads[3].process, 1u);
  EXPECT_EQ(recording.processes[1].moved_by, -1000s);
  EXPECT_EQ(recording.frames[recording.stacks[4].frames[0]].process, 1u);
}

TEST(Append, CanLetBothBeginTogether) {
  Recording recording = golden::make_golden().recording;
  Recording other = golden::make_golden().recording;
  other.processes[0].start_realtime += 3600s;
  append(recording, other, Align::kBegin);
  EXPECT_EQ(recording.samples[0].time, recording.samples[1].time);
}

TEST(FilterStacks, KeepsOnlyStacksWithAMatch) {
  golden::Golden input = golden::make_golden();
  filter_stacks(input.recording, input.names, {.only = named("mix")});
  EXPECT_EQ(input.recording.samples.size(), 3u);
}

TEST(FilterStacks, HidesFunctionsAlsoWhereTheyAreInlined) {
  golden::Golden input = golden::make_golden();
  const std::size_t samples = input.recording.samples.size();
  filter_stacks(input.recording, input.names, {.hide = named("mix")});
  EXPECT_THAT(functions_of(input, 0), ElementsAre(kBurn, "main", "_start"));
  filter_stacks(input.recording, input.names, {.hide = named("burn")});
  EXPECT_THAT(functions_of(input, 0), ElementsAre("main", "_start"));
  EXPECT_EQ(input.recording.stacks[3].omitted_at, 0u);
  EXPECT_EQ(input.recording.samples.size(), samples);
}

TEST(FilterStacks, BeginsAtTheOutermostMatch) {
  golden::Golden input = golden::make_golden();
  filter_stacks(input.recording, input.names, {.focus = named("burn")});
  EXPECT_THAT(functions_of(input, 0), ElementsAre("mix(unsigned int)", kBurn));
  EXPECT_EQ(functions_of(input, 3).size(), 4u);  // recursion stays
  EXPECT_EQ(input.recording.samples.size(), 3u);
  filter_stacks(input.recording, input.names, {.focus = named("mix")});
  EXPECT_THAT(functions_of(input, 0), ElementsAre("mix(unsigned int)"));
}

// Stack 4 has Python between native frames, stack 0 has none.
TEST(FilterStacks, KeepsNativeFramesOrThoseOfLanguages) {
  golden::Golden native = golden::make_mixed_golden();
  filter_stacks(native.recording, native.names, {.kinds = FrameKinds::kNative});
  EXPECT_THAT(functions_of(native, 4), ElementsAre("mix(unsigned int)", kBurn, "main", "_start"));
  EXPECT_THAT(functions_of(native, 5), ElementsAre("main", "_start"));
  golden::Golden language = golden::make_mixed_golden();
  filter_stacks(language.recording, language.names, {.kinds = FrameKinds::kLanguage});
  EXPECT_THAT(functions_of(language, 4),
              ElementsAre("Worker.run (app.py)", kFunctionGone, "<module> (app.py)"));
  EXPECT_THAT(functions_of(language, 0), ElementsAre("mix(unsigned int)", kBurn, "main", "_start"));
  EXPECT_EQ(language.recording.samples.size(),
            golden::make_mixed_golden().recording.samples.size());
}

// Methods of .NET are addresses that its perf map names.
TEST(FilterStacks, TakesNamedMethodsForFramesOfTheirLanguage) {
  for (const auto kinds : {FrameKinds::kLanguage, FrameKinds::kNative}) {
    golden::Golden input = golden::make_golden();
    const std::uint32_t innermost = input.recording.stacks[0].frames[0];
    input.names.frames[innermost] = {
        {.function = "Shop::Buy", .system_name = "", .file = "", .language = Language::kDotNet}};
    filter_stacks(input.recording, input.names, {.kinds = kinds});
    const bool is_left = kinds == FrameKinds::kLanguage;
    EXPECT_EQ(functions_of(input, 0).front() == "Shop::Buy", is_left);
    EXPECT_EQ(functions_of(input, 0).size() == 1, is_left);
  }
}

TEST(FilterStacks, KeepsThePlaceOfOmittedFramesAmongThoseOfLanguages) {
  // Of hot, run, lost, script, main, start: which are left out before each index, and what is left.
  const struct {
    std::uint32_t omitted_at;
    std::uint32_t language;
    std::uint32_t native;
  } cases[] = {{0, 0, 0}, {1, 0, 1}, {2, 1, 1}, {4, 3, 1}, {5, 3, 2}, {6, 3, 3}};
  for (const auto& expected : cases) {
    golden::Golden input = golden::make_mixed_golden();
    input.recording.stacks[4].omitted_at = expected.omitted_at;
    golden::Golden other = input;
    filter_stacks(input.recording, input.names, {.kinds = FrameKinds::kLanguage});
    EXPECT_EQ(input.recording.stacks[4].omitted_at, expected.language) << expected.omitted_at;
    filter_stacks(other.recording, other.names, {.kinds = FrameKinds::kNative});
    EXPECT_EQ(other.recording.stacks[4].omitted_at, expected.native) << expected.omitted_at;
  }
}

TEST(FilterStacks, KeepsFramesOfAKindBeforeItLooksForMatches) {
  golden::Golden input = golden::make_mixed_golden();
  filter_stacks(input.recording, input.names,
                {.kinds = FrameKinds::kLanguage, .focus = named("<module>")});
  EXPECT_EQ(input.recording.samples.size(), 2u);
  EXPECT_THAT(functions_of(input, 5), ElementsAre("Worker.run (app.py)", "<module> (app.py)"));
}

TEST(Append, KeepsTheFunctionsOfFrames) {
  Recording recording = golden::make_mixed_golden().recording;
  append(recording, golden::make_mixed_golden().recording, Align::kRealTime);
  ASSERT_EQ(recording.functions.size(), 6u);
  const Frame& frame = recording.frames[recording.stacks[11].frames[0]];
  EXPECT_EQ(frame.function, 3u);
  EXPECT_EQ(recording.functions[frame.function].process, 1u);
}

TEST(InvertStacks, TurnsInlinedFunctionsRoundAsWell) {
  golden::Golden input = golden::make_golden();
  invert_stacks(input.recording, input.names);
  EXPECT_THAT(functions_of(input, 0), ElementsAre("_start", "main", kBurn, "mix(unsigned int)"));
  EXPECT_EQ(input.recording.stacks[3].omitted_at, 2u);
}

}  // namespace
}  // namespace swipr::profile
