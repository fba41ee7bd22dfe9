#include "cli/trace/function_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace swipr::tracing {
namespace {

using testing::HasSubstr;
using CandidateKind = Candidate::Kind;

FunctionQuery named(std::string_view text) { return *parse_function_query(text); }

Candidate candidate(std::uint64_t begin, std::string name, Fit fit = Fit::kWhole,
                    CandidateKind kind = CandidateKind::kDefined) {
  return {0, "server", {begin}, std::move(name), fit, kind};
}

std::string error_of(const host::Result<Choice>& choice) {
  return choice ? "found" : choice.error().message();
}

TEST(FunctionChoice, OfSeveralNamesOfOneFunctionIsThatFunction) {
  const Candidate all[] = {candidate(16, "write"), candidate(16, "__write")};
  const auto choice = choose_functions(named("write"), all, 32);
  ASSERT_TRUE(choice);
  ASSERT_EQ(choice->functions.size(), 1u);
  EXPECT_EQ(choice->functions[0].name, "write");
  EXPECT_EQ(choice->note, "");
}

TEST(FunctionChoice, OfSeveralFunctionsIsAnErrorThatNamesThem) {
  const Candidate all[] = {candidate(16, "buy(int)"), candidate(32, "buy(char)")};
  EXPECT_EQ(error_of(choose_functions(named("buy"), all, 32)),
            "'buy' is 2 functions; name one: 'server!buy(int)', 'server!buy(char)'");
  const Candidate twins[] = {candidate(16, "init"), candidate(32, "init")};
  EXPECT_THAT(error_of(choose_functions(named("init"), twins, 32)),
              HasSubstr("'server!0x10', 'server!0x20'"));
}

TEST(FunctionChoice, PrefersTheWholeNameToItsLastPart) {
  const Candidate all[] = {candidate(16, "a::buy", Fit::kLastPart), candidate(32, "buy")};
  const auto choice = choose_functions(named("buy"), all, 32);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->functions[0].begin, ImageAddr{32});
  const auto last = choose_functions(named("buy"), std::span(all).first(1), 32);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->functions[0].name, "a::buy");
}

TEST(FunctionChoice, TakesCopiesWhereThereIsNothingElse) {
  const Candidate all[] = {candidate(16, "buy"), candidate(32, "buy.isra.0", Fit::kCopy),
                           candidate(48, "buy.isra.1", Fit::kCopy)};
  const auto copies = choose_functions(named("buy"), std::span(all).subspan(1), 32);
  ASSERT_TRUE(copies);
  EXPECT_EQ(copies->functions.size(), 2u);
  const auto original = choose_functions(named("buy"), all, 32);
  ASSERT_TRUE(original);
  EXPECT_EQ(original->functions.size(), 1u);
  EXPECT_THAT(original->note, HasSubstr("2 copies"));
  EXPECT_THAT(original->note, HasSubstr("buy.isra.0"));
}

TEST(FunctionChoice, OfAPatternIsAllThatFit) {
  const Candidate all[] = {candidate(16, "buy"), candidate(32, "bury"),
                           candidate(48, "burn.isra.0", Fit::kCopy),
                           candidate(0, "butter", Fit::kWhole, CandidateKind::kImported)};
  const auto choice = choose_functions(named("bu*"), all, 32);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->functions.size(), 3u);
  EXPECT_THAT(error_of(choose_functions(named("bu*"), all, 2)),
              HasSubstr("matches 3 functions; at most 2 can be traced at once"));
}

TEST(FunctionChoice, SaysWhyWhatFitsIsNotTraced) {
  const Candidate indirect[] = {candidate(16, "memcpy", Fit::kWhole, CandidateKind::kIndirect),
                                candidate(32, "memcpy")};
  EXPECT_THAT(error_of(choose_functions(named("memcpy"), indirect, 32)), HasSubstr("IFUNC"));
  const Candidate imported[] = {candidate(0, "malloc", Fit::kWhole, CandidateKind::kImported)};
  EXPECT_EQ(error_of(choose_functions(named("server!malloc"), imported, 32)),
            "server only uses 'malloc'; it is in another file: name it without 'server!'");
  EXPECT_THAT(error_of(choose_functions(named("malloc"), imported, 32)),
              HasSubstr("no file of the process has it"));
  EXPECT_EQ(error_of(choose_functions(named("nothing"), {}, 32)), "");
}

}  // namespace
}  // namespace swipr::tracing
