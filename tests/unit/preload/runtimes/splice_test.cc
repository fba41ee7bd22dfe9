#include "preload/runtimes/splice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace swipr::runtimes {
namespace {

constexpr Range<std::uint64_t> kLoop{0x1000, 0x2000};
constexpr std::uint64_t kStackBegin = 0x7000;
constexpr std::uint64_t kFrameBytes = 0x100;

constexpr std::uint64_t stack_of(std::uint32_t frame) { return kStackBegin + frame * kFrameBytes; }
constexpr std::uint64_t mark_in(std::uint32_t frame) { return stack_of(frame) + 0x40; }

// Native frames as letters, innermost first: L in the loop's symbol, others elsewhere; "|": frames
// are omitted here. Tokens likewise: each letter a frame, "," ends a group,
// "'" is behind a function that is built in.
struct Case {
  std::string native;
  std::string tokens;
  std::vector<std::uint64_t> marks;  // of the groups; empty: 0
  bool is_root_reached = true;
  bool has_token_root = true;
};

struct Spliced {
  std::string frames;  // the letters of both; "|": the gap
  bool is_uneven = false;
  std::uint32_t loops_left = 0;
  bool operator==(const Spliced&) const = default;
};

void PrintTo(const Spliced& spliced, std::ostream* out) {
  *out << spliced.frames << (spliced.is_uneven ? " uneven" : "") << " left " << spliced.loops_left;
}

std::vector<Token> tokens_of(const Case& given) {
  std::vector<Token> tokens;
  std::size_t group = 0;
  for (const char c : given.tokens) {
    if (c == '\'') {
      tokens.back().flags = kTokenBuiltIn;
      continue;
    }
    if (c != ',') {
      tokens.push_back({.code = static_cast<std::uint64_t>(c)});
      continue;
    }
    tokens.back().flags = kTokenEndsLoop;
    tokens.back().mark = group < given.marks.size() ? given.marks[group] : 0;
    ++group;
  }
  return tokens;
}

std::unique_ptr<SplicedStack> spliced_stack(const Case& given, const std::vector<Token>& tokens,
                                            std::string& names) {
  std::vector<std::uint64_t> pcs;
  std::vector<std::uint64_t> stacks;
  std::uint32_t omitted_at = 0;
  for (const char c : given.native) {
    if (c == '|') {
      omitted_at = static_cast<std::uint32_t>(pcs.size());
      continue;
    }
    names += c;
    stacks.push_back(stack_of(static_cast<std::uint32_t>(pcs.size())));
    pcs.push_back(c == 'L' ? kLoop.begin + 8 : 0x5000);
  }
  auto out = std::make_unique<SplicedStack>();
  splice({pcs, stacks, given.is_root_reached, omitted_at}, {tokens, 0, given.has_token_root}, kLoop,
         *out);
  return out;
}

Spliced spliced(const Case& given) {
  const std::vector<Token> tokens = tokens_of(given);
  std::string names;
  const auto out = spliced_stack(given, tokens, names);
  Spliced result{"", out->is_uneven, out->loops_left};
  for (const SplicedFrame& frame : out->view()) {
    if (out->omitted_at != 0 && &frame == &out->frames[out->omitted_at]) result.frames += '|';
    result.frames +=
        frame.is_token ? static_cast<char>(tokens[frame.index].code) : names[frame.index];
  }
  return result;
}

TEST(Splice, LeavesANativeStackWithoutTokensAsItIs) {
  EXPECT_EQ(spliced({"aLbc", "", {}}), (Spliced{"aLbc", false, 1}));
  EXPECT_EQ(spliced({"", "", {}}), (Spliced{"", false, 0}));
}

TEST(Splice, ReplacesTheFrameThatHoldsTheMark) {
  EXPECT_EQ(spliced({"aLbcLd", "12,34,", {mark_in(1), mark_in(4)}}),
            (Spliced{"a12bc34d", false, 0}));
}

TEST(Splice, FindsALoopOutsideOfTheSymbolByItsMark) {
  EXPECT_EQ(spliced({"aXLbcXLd", "12,34,", {mark_in(1), mark_in(5)}}),
            (Spliced{"a12bc34d", false, 0}));
  EXPECT_EQ(spliced({"aLXbLXc", "1,2,", {mark_in(2), mark_in(5)}}), (Spliced{"a1b2c", false, 0}));
}

TEST(Splice, LeavesAnInnermostLoopThatHasNoFrameYet) {
  EXPECT_EQ(spliced({"LabLc", "12,", {mark_in(3)}}), (Spliced{"Lab12c", false, 1}));
  EXPECT_EQ(spliced({"LabLcLd", "1,2,", {}}), (Spliced{"Lab1c2d", false, 1}));
}

TEST(Splice, TakesTheFirstAndTheLastByteOfAFrameForItsOwn) {
  EXPECT_EQ(spliced({"aLbc", "1,", {stack_of(1)}}).frames, "a1bc");
  EXPECT_EQ(spliced({"aLbc", "1,", {stack_of(2) - 1}}).frames, "a1bc");
  EXPECT_EQ(spliced({"aXYc", "1,", {stack_of(2)}}).frames, "aX1c");
}

TEST(Splice, KeepsGroupsOfOneFrameTogether) {
  EXPECT_EQ(spliced({"aLb", "12,34,", {mark_in(1), mark_in(1) + 8}}),
            (Spliced{"a1234b", false, 0}));
}

TEST(Splice, PutsFramesThatUnwindingMissedToTheRootSide) {
  EXPECT_EQ(spliced({"aLbc", "1,2,3,", {mark_in(1), mark_in(9), mark_in(12)}, false}),
            (Spliced{"a1bc23", false, 0}));
  EXPECT_EQ(spliced({"aLbL", "1,2,3,", {mark_in(1), mark_in(3), mark_in(12)}, false}),
            (Spliced{"a1b23", false, 0}));
  EXPECT_EQ(spliced({"ab", "1,2,", {}, false}), (Spliced{"ab12", false, 0}));
}

TEST(Splice, CountsFramesThatACompleteStackHasNoLoopFor) {
  EXPECT_EQ(spliced({"aLbc", "1,2,", {mark_in(1), mark_in(9)}}), (Spliced{"a1bc2", true, 0}));
}

TEST(Splice, KeepsTheOrderOfGroupsWhoseMarksHaveNone) {
  EXPECT_EQ(spliced({"aLbLc", "1,2,3,", {mark_in(1), 0, mark_in(3)}}),
            (Spliced{"a1b23c", true, 0}));
  EXPECT_EQ(spliced({"aLbLc", "1,2,", {mark_in(3), mark_in(1)}}), (Spliced{"aLb1c2", true, 1}));
}

TEST(Splice, EndsWithFramesWhoseLoopIsNotKnown) {
  EXPECT_EQ(spliced({"aLbLc", "1,23", {mark_in(1)}, false}), (Spliced{"a1bLc23", false, 1}));
}

TEST(Splice, PairsAsManyLoopsAsGroupsWithoutMarks) {
  EXPECT_EQ(spliced({"aLbLLc", "1,2,3,", {}}), (Spliced{"a1b23c", false, 0}));
}

bool is_paired(const Case& given) {
  std::string names;
  return spliced_stack(given, tokens_of(given), names)->is_paired;
}

TEST(Splice, TellsWhetherAllLoopsArePaired) {
  EXPECT_TRUE(is_paired({"aLbLc", "1,2,", {}}));
  EXPECT_TRUE(is_paired({"aLbLc", "1,2,", {}, false})) << "a fiber";
  EXPECT_FALSE(is_paired({"aLb", "1,2,", {}, false}));
  EXPECT_FALSE(is_paired({"aLbLc", "1,", {}}));
  EXPECT_FALSE(is_paired({"aLbLc", "1,2", {}, false, false}));
  EXPECT_FALSE(is_paired({"aL|bLc", "1,2,", {}}));
}

TEST(Splice, BeginsWithAGroupWhoseLoopHasNotBegun) {
  EXPECT_EQ(spliced({"aLbLc", "1,2,3,", {}}), (Spliced{"1a2b3c", false, 0}));
}

TEST(Splice, PairsFromTheRootWhereLoopsAndGroupsAreUneven) {
  EXPECT_EQ(spliced({"LaLbLc", "1,", {}}), (Spliced{"LaLb1c", true, 2}));
  EXPECT_EQ(spliced({"aLb", "1,2,3,", {}}), (Spliced{"a123b", true, 0}));
}

TEST(Splice, TakesBuiltInFunctionsForPartsOfGroups) {
  EXPECT_EQ(spliced({"aLbLc", "1'2,3'4,", {}}), (Spliced{"a12b34c", false, 0}));
  EXPECT_EQ(spliced({"aLbLc", "1,2,3'", {}}), (Spliced{"a1b2c3", true, 0}))
      << "no loop runs the outermost";
}

TEST(Splice, PairsFromTheInsideWhereTheRootIsMissing) {
  EXPECT_EQ(spliced({"aLbLc", "1,2,3,4,", {}, false}), (Spliced{"a1b2c34", false, 0}));
}

TEST(Splice, PairsFromTheInsideWhereTokensAreMissingAtTheRoot) {
  EXPECT_EQ(spliced({"aLbLcLd", "1,2,", {}, true, false}), (Spliced{"a1b2cLd", false, 1}));
  EXPECT_EQ(spliced({"aLb|LcLd", "1,2,", {}, true, false}), (Spliced{"a1b|2cLd", false, 1}));
}

TEST(Splice, PairsBothEndsOfAStackThatIsCut) {
  EXPECT_EQ(spliced({"aLb|cLd", "1,2,3,4,", {}}), (Spliced{"a1b|23c4d", false, 0}));
  // A frame before omitted ones may be no loop.
  EXPECT_EQ(spliced({"aLb|cLd", "1,2,3,4,", {mark_in(1), mark_in(2), mark_in(2) + 8, mark_in(4)}}),
            (Spliced{"a1b|23c4d", false, 0}));
  EXPECT_EQ(spliced({"aL|cLd", "1,2,3,", {mark_in(1), mark_in(1) + 8, mark_in(3)}}),
            (Spliced{"a12|c3d", false, 0}));
}

TEST(Splice, KeepsBothEndsOfAStackThatIsTooDeep) {
  std::vector<std::uint64_t> pcs(wire::kMaxFrames, 0x5000);
  std::vector<std::uint64_t> stacks;
  for (std::uint32_t i = 0; i < pcs.size(); ++i) stacks.push_back(stack_of(i));
  std::vector<Token> tokens(TokenBuffer::kCapacity);
  tokens.back() = {.code = 1, .mark = mark_in(0), .flags = kTokenEndsLoop};
  const auto out = std::make_unique<SplicedStack>();
  splice({pcs, stacks, true, 0}, {tokens, 0, true}, kLoop, *out);
  ASSERT_EQ(out->count, wire::kMaxFrames);
  EXPECT_EQ(out->omitted_at, TokenBuffer::kKeptInner);
  EXPECT_TRUE(out->frames[0].is_token);
  EXPECT_TRUE(out->frames[TokenBuffer::kKeptInner - 1].is_token);
  EXPECT_FALSE(out->frames[TokenBuffer::kKeptInner].is_token);
  EXPECT_EQ(out->frames[wire::kMaxFrames - 1].index, wire::kMaxFrames - 1);
}

}  // namespace
}  // namespace swipr::runtimes
