#include "cli/commands/output/filters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace swipr::commands {
namespace {

using testing::HasSubstr;

struct Input {
  profile::Recording recording;
  profile::Names names;
};

Input make_input() {
  Input input;
  input.recording.processes.resize(1);
  input.recording.threads.resize(1);
  input.recording.frames.resize(1);
  input.recording.stacks.push_back({{0}, profile::kNone, "poll", true});
  input.recording.samples.emplace_back().stack = 0;
  input.recording.samples.back().state = profile::State::kBlocked;
  input.names.frames.emplace_back().emplace_back().function = "wait(int)";
  return input;
}

options::FilterOptions with_only(std::string expression) {
  options::FilterOptions filters;
  filters.only = std::move(expression);
  return filters;
}

options::FilterOptions with_hide(std::string expression) {
  options::FilterOptions filters;
  filters.hide = std::move(expression);
  return filters;
}

TEST(FilterStacks, SaysWhatIsWrongWithAnExpression) {
  Input input = make_input();
  const auto result = filter_stacks(input.recording, input.names, with_hide("wait("));
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message(), HasSubstr("--hide 'wait(' is not a regular expression: "));
}

TEST(FilterStacks, SaysWhichFiltersLeftNothing) {
  Input input = make_input();
  const auto result = filter_stacks(input.recording, input.names, with_only("^no such$"));
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message(), HasSubstr("no sample matches --only ^no such$"));
}

TEST(FilterStacks, MatchesPartsOfNames) {
  Input input = make_input();
  EXPECT_TRUE(
      filter_stacks(input.recording, input.names, with_only("wait\\(.*\\)|other")).has_value());
  EXPECT_EQ(input.recording.samples.size(), 1u);
}

TEST(InvertStacks, BeginsWithWhatTheThreadWaitsIn) {
  Input input = make_input();
  invert_stacks(input.recording, input.names, true);
  const auto& frames = input.recording.stacks[input.recording.samples[0].stack].frames;
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(input.names.frames[frames[1]][0].function, "[poll]");
}

TEST(LoadInputs, SaysWhichInputCannotBeRead) {
  const auto inputs = load_inputs({"/no/such/file"}, "", {}, Credit::kYes);
  ASSERT_FALSE(inputs.has_value());
  EXPECT_THAT(inputs.error().message(), HasSubstr("cannot read /no/such/file"));
}

}  // namespace
}  // namespace swipr::commands
