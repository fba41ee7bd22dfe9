#include "preload/agent/sample/callers/code_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "preload/unwind/base/code_checksum.h"
#include "preload/unwind/base/code_hash.h"
#include "tests/unit/preload/agent/sample/callers/code_page.h"

namespace swipr::agent {
namespace {

using unwind::CodeClaim;
using Kind = CodeClaim::Kind;

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kCallEnd = 64;  // offset after the call
constexpr std::uint64_t kTarget = 16;   // offset of its target

// A page of code with one direct call, and a stack of three frames.
class CodeCheckTest : public CodePageTest {
 protected:
  CodeCheckTest() : CodePageTest(kPage) {
    put_call_before(kCallEnd, kTarget);
    unwind::forget_refuted();
    frames_.frame_count = 3;
    frames_.flags = wire::kStackRootReached;
    frames_.kinds.fill(4);
  }
  ~CodeCheckTest() override { unwind::forget_refuted(); }

  CodeClaim call(std::uint64_t return_address, std::uint64_t begin, std::uint64_t end) const {
    return {.address = at(return_address),
            .begin = at(begin),
            .end = at(end),
            .frame = 1,
            .kind = Kind::kCallBefore};
  }
  bool add(const CodeClaim& claim) {
    return unwind::add_claim(frames_.claims, frames_.claim_count, claim);
  }
  bool holds(const CodeClaim& claim, const unwind::CodeMap* map = nullptr) {
    EXPECT_TRUE(add(claim));
    check_code_claims(memory_, map, *callers_, frames_);
    EXPECT_EQ(frames_.claim_count, 0u);
    return frames_.frame_count == 3 && frames_.flags == wire::kStackRootReached;
  }

  std::unique_ptr<CallerSearch> callers_ = std::make_unique<CallerSearch>();
  unwind::FrameBuffer frames_;
};

TEST_F(CodeCheckTest, ACallThatStandsThereConfirmsTheStack) {
  EXPECT_TRUE(holds(call(kCallEnd, kTarget, kTarget + 1)));
  EXPECT_TRUE(add(call(kCallEnd, kTarget, kTarget + 1)));
}

TEST_F(CodeCheckTest, AStackEndsWhereNoSuchCallStands) {
  const CodeClaim elsewhere = call(kCallEnd, kTarget + 1, kTarget + 2);
  EXPECT_FALSE(holds(elsewhere));
  EXPECT_EQ(frames_.frame_count, 2u);
  EXPECT_EQ(frames_.flags, wire::kStackBroken);
  EXPECT_FALSE(add(elsewhere)) << "later walks know";
  unwind::forget_refuted();
  EXPECT_TRUE(add(elsewhere));
}

// The frame pointer that the innermost frame and its supposed caller have leads to the root.
TEST_F(CodeCheckTest, ACallerThatIsNoneIsLeftOutWhereTheFramePointerIsKnown) {
  using wire::FrameSource;
  const auto fill = [this] {
    frames_.frame_count = 5;
    frames_.flags = wire::kStackRootReached;
    frames_.pcs = {at(100), at(kCallEnd + 8), at(300), at(400), at(500)};
    frames_.stacks = {1000, 1000, 1080, 1160, 1240};
    const FrameSource sources[] = {FrameSource::kContext, FrameSource::kGuess,
                                   FrameSource::kFramePointer, FrameSource::kCfi,
                                   FrameSource::kCfi};
    for (std::size_t i = 0; i != std::size(sources); ++i) {
      frames_.kinds[i] = static_cast<std::uint8_t>(sources[i]);
    }
    unwind::forget_refuted();
    CodeClaim caller = call(kCallEnd + 8, kTarget, kTarget + 1);
    caller.frame = 0;
    EXPECT_TRUE(add(caller));
  };
  fill();
  EXPECT_TRUE(add({.address = at(500), .begin = 0, .end = 0, .frame = 4, .kind = Kind::kHash}));
  frames_.claims[1].kind = Kind::kCallBefore;  // of a later frame, and false, too
  check_code_claims(memory_, nullptr, *callers_, frames_);
  ASSERT_EQ(frames_.frame_count, 4u);
  EXPECT_EQ(frames_.pcs[1], at(300));
  EXPECT_EQ(frames_.stacks[1], 1080u);
  EXPECT_EQ(frames_.kinds[1], static_cast<std::uint8_t>(FrameSource::kFramePointer));
  EXPECT_EQ(frames_.flags, wire::kStackBroken);

  for (const auto spoil : {0, 1, 2, 3}) {
    fill();
    if (spoil == 0) frames_.flags = 0;
    if (spoil == 1) frames_.kinds[1] = static_cast<std::uint8_t>(FrameSource::kFramePointer);
    if (spoil == 2) frames_.kinds[2] = static_cast<std::uint8_t>(FrameSource::kCfi);
    if (spoil == 3) frames_.pcs[1] = at(kCallEnd);
    check_code_claims(memory_, nullptr, *callers_, frames_);
    EXPECT_EQ(frames_.frame_count, 1u) << spoil;
  }
  fill();
  check_code_claims(memory_, nullptr, *callers_, frames_);
  EXPECT_EQ(frames_.frame_count, 4u);
  EXPECT_EQ(frames_.flags, wire::kStackRootReached);
}

TEST_F(CodeCheckTest, AStackEndsWhereTheCodeIsGone) {
  const CodeClaim gone = call(kCallEnd, kTarget, kTarget + 1);
  unmap();
  EXPECT_FALSE(holds(gone));
  EXPECT_EQ(frames_.frame_count, 2u);
}

TEST_F(CodeCheckTest, ARootThatACallPrecedesIsNone) {
  const unwind::CodeRange range{.start = at(0), .end = at(kPage)};
  const unwind::CodeMap map{std::span(&range, 1)};
  const CodeClaim root{.address = at(kCallEnd + 1), .frame = 2, .kind = Kind::kNoCallBefore};
  EXPECT_TRUE(holds(root, &map));
  EXPECT_EQ(frames_.kinds[2], 4);
  CodeClaim called = root;
  called.address = at(kCallEnd);
  EXPECT_FALSE(holds(called, &map));
  EXPECT_EQ(frames_.frame_count, 3u);
  EXPECT_EQ(frames_.kinds[2], 0);
  EXPECT_EQ(frames_.flags, wire::kStackBroken);
}

TEST_F(CodeCheckTest, AHashIsThatOfTheWholeWordsOfTheCode) {
  std::uint64_t hash = 0;
  for (std::uint64_t offset = 0; offset != 24; offset += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, code_ + offset, sizeof word);
    hash = unwind::hash_word(hash, word);
  }
  std::atomic<bool> contradicted{false};
  const unwind::CodeMap map{{}, nullptr, {}, {.sorted = {}, .contradicted = &contradicted}};
  const CodeClaim claim{.address = at(0),
                        .begin = 20,
                        .end = unwind::CodeChecksum::fold(hash),
                        .frame = 0,
                        .kind = Kind::kHash};
  EXPECT_TRUE(holds(claim, &map));
  EXPECT_FALSE(contradicted);
  code_[3] ^= 1;
  EXPECT_FALSE(holds(claim, &map));
  EXPECT_TRUE(contradicted) << "the map has to be made anew";
  EXPECT_EQ(frames_.frame_count, 1u);
}

TEST_F(CodeCheckTest, EachClaimIsKeptOnceAndThereIsAnEndToThem) {
  for (std::uint64_t number = 0; number != unwind::kMaxClaims; ++number) {
    EXPECT_TRUE(add(call(number, 0, 1)));
    EXPECT_TRUE(add(call(number, 0, 1)));
  }
  EXPECT_FALSE(add(call(unwind::kMaxClaims, 0, 1)));
  EXPECT_EQ(frames_.claim_count, unwind::kMaxClaims);
}

}  // namespace
}  // namespace swipr::agent
