#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "preload/unwind/table/unwind_table.h"
#include "preload/unwind/walk/walk.h"
#include "tests/unit/preload/unwind/walk/walk_fixture.h"

namespace swipr::unwind {
namespace {

TEST_F(Walk, EndsWhereATableIsNotBuiltAndGoesOnWhenItIs) {
  const UnwindTable* const table = ranges_[1].table;
  ranges_[1].table = &kUnbuiltTable;
  const Words stack{kCode + kRoot + 4};
  EXPECT_EQ(walk_stack(kCode + kPlain + 4, stack), WalkEnd::kUnbuilt);
  EXPECT_EQ(pcs(), Words{kCode + kPlain + 4});
  EXPECT_NE(frames_->flags & wire::kStackBroken, 0u);
  EXPECT_EQ(outermost_lookup_address(*frames_), kCode + kPlain + 4);
  ranges_[1].table = table;
  EXPECT_EQ(walk_stack(kCode + kPlain + 4, stack), WalkEnd::kRoot);
  EXPECT_EQ(outermost_lookup_address(*frames_), kCode + kRoot + 3);
}

TEST_F(Walk, GoesOnFromAFrameInTheMiddle) {
  stack_ = {kCode + kRoot + 4};
  registers_.values[kPc] = kCode + kPlain + 64;  // after the function's last call
  const StackReader reader{&read_word, this};
  EXPECT_EQ(walk_on(CodeMap(ranges_), registers_, false, reader, *frames_), WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{kCode + kPlain + 64, kCode + kRoot + 4}));
  EXPECT_FALSE(is_exact(0));
}

TEST_F(Walk, LooksReturnAddressesUpBeforeTheCall) {
  // The return address is the first byte after the calling function, which ends with the call.
  EXPECT_EQ(walk_stack(kCode + kPlain, {kCode + kPushed + 64, 77, kCode + kRoot + 1}),
            WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{kCode + kPlain, kCode + kPushed + 64, kCode + kRoot + 1}));
  EXPECT_EQ(frames_->flags, wire::kStackRootReached);
  EXPECT_EQ(source(0), wire::FrameSource::kContext);
  EXPECT_EQ(source(1), wire::FrameSource::kCfi);
  EXPECT_TRUE(is_exact(0));
  EXPECT_FALSE(is_exact(1));
}

TEST_F(Walk, TakesTheInnermostPcAsItIs) {
  // The first byte of kFramed: the byte before it has another rule.
  registers_.values[kRbp] = kStack + 8;
  EXPECT_EQ(walk_stack(kCode + kFramed, {1, 2, kCode + kRoot + 1}), WalkEnd::kRoot);
  EXPECT_EQ(pcs().size(), 2u);
}

TEST_F(Walk, RestoresTheFramePointerThatFunctionsSaved) {
  registers_.known = 1u << kRsp | 1u << kPc;
  EXPECT_EQ(
      walk_stack(kCode + kPushed, {kStack + 24, kCode + kFramed + 5, 0, 0, kCode + kRoot + 9}),
      WalkEnd::kRoot);
  EXPECT_EQ(pcs().size(), 3u);
}

TEST_F(Walk, EndsAtCodeThatIsEnteredByAReturn) {
  // Its CFI begins exactly at the return address: no call can have pushed that address.
  registers_.values[kRbp] = kStack + 8;
  code_words_[kCode + kAlone - 8] = 0;
  EXPECT_EQ(walk_stack(kCode + kPlain, {kCode + kAlone, kStack, kCode + kRoot + 1}),
            WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{kCode + kPlain, kCode + kAlone}));
  EXPECT_TRUE(is_exact(1));
}

TEST_F(Walk, StopsWhereItNeedsAnUnknownRegister) {
  registers_.known = 1u << kRsp | 1u << kPc;
  EXPECT_EQ(walk_stack(kCode + kPlain, {kCode + kFramed + 5}), WalkEnd::kUnknownRegister);
  EXPECT_EQ(pcs().size(), 2u);
  EXPECT_EQ(frames_->flags, wire::kStackBroken);
  EXPECT_EQ(walk_stack(kCode + kPlain, {kJit + 5}), WalkEnd::kUnknownRegister);
  EXPECT_EQ(walk_stack(kCode + kBased, {}), WalkEnd::kUnknownRegister);
  EXPECT_EQ(walk_stack(kCode + kRealigned, {}), WalkEnd::kUnknownRegister);
}

TEST_F(Walk, TreatsThePcBehindASignalFrameAsExact) {
  const std::uint64_t other = kStack + 64;  // the interrupted stack
  const Words stack = {kCode + kSignal + 8, kStack + 64, other, kCode + kFramed, 0, 0, 0, 0, 0,
                       kCode + kRoot + 1};
  EXPECT_EQ(walk_stack(kCode + kPlain, stack), WalkEnd::kRoot);
  EXPECT_EQ(pcs(),
            (Words{kCode + kPlain, kCode + kSignal + 8, kCode + kFramed, kCode + kRoot + 1}));
  EXPECT_TRUE(is_exact(1));  // the trampoline: nothing called from it
  EXPECT_TRUE(is_exact(2));
  EXPECT_FALSE(is_exact(3));
}

TEST_F(Walk, AllowsALowerStackOnlyBehindASignalFrame) {
  registers_.values[kRsp] = kStack + 64;
  Words stack(16, 0);
  stack[1] = kCode + kRoot + 1;    // content of the interrupted stack
  stack[8] = kCode + kSignal + 8;  // at the first rsp
  stack[9] = 0;                    // rbp
  stack[10] = kStack + 8;          // rsp below
  stack[11] = kCode + kPlain + 3;  // pc
  EXPECT_EQ(walk_stack(kCode + kPlain, stack), WalkEnd::kRoot);
  EXPECT_EQ(pcs().size(), 4u);
  registers_.values[kRbp] = kStack;  // a frame pointer that points down again
  EXPECT_EQ(walk_stack(kCode + kFramed, stack), WalkEnd::kNoRule);
  EXPECT_EQ(pcs().size(), 1u);
}

TEST_F(Walk, FindsTheCfaInMemory) {
  registers_.values[kRbp] = kStack + 8;
  const Words stack = {kStack + 40, kStack + 16, 0, 0, kCode + kRoot + 1, 5};
  EXPECT_EQ(walk_stack(kCode + kRealigned, stack), WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{kCode + kRealigned, kCode + kRoot + 1}));
}

TEST_F(Walk, KeepsAFramePointerThatTheEpilogueHasRestored) {
  // CFA in r10, rbp "at rbp", but rbp is the caller's: outside of this frame.
  registers_.values[10] = kStack + 8;
  registers_.values[kRbp] = kStack + 16;
  registers_.known |= 1u << 10;
  const Words stack = {kCode + kFramed + 5, 0, kStack, kCode + kRoot + 1};
  EXPECT_EQ(walk_stack(kCode + kDrap, stack), WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{kCode + kDrap, kCode + kFramed + 5, kCode + kRoot + 1}));
}

TEST_F(Walk, FindsAReturnAddressInARegister) {
  registers_.values[5] = kCode + kPlain + 7;
  registers_.known |= 1u << 5;
  EXPECT_EQ(walk_stack(kCode + kInRegister, {kCode + kRoot + 1}), WalkEnd::kRoot);
  EXPECT_EQ(pcs().size(), 3u);
  // Such code cannot be a caller: the register no longer holds its value.
  EXPECT_EQ(walk_stack(kCode + kPlain, {kCode + kInRegister + 1}), WalkEnd::kUnknownRegister);
}

TEST_F(Walk, InventsNoFrameOutsideOfCode) {
  EXPECT_EQ(walk_stack(kCode + kPlain, {kNowhere, kCode + kRoot + 1}), WalkEnd::kNoRule);
  EXPECT_EQ(pcs().size(), 1u);
  EXPECT_EQ(walk_stack(kNowhere, {kNowhere}), WalkEnd::kNoRule);
  EXPECT_EQ(pcs(), Words{kNowhere});
  EXPECT_EQ(frames_->flags, wire::kStackBroken);
}

TEST_F(Walk, ClaimsNoRootWhereAReturnAddressIsZero) {
  EXPECT_EQ(walk_stack(kCode + kPlain, {kCode + kPlain + 9, 0}), WalkEnd::kNoRule);
  EXPECT_EQ(pcs().size(), 2u);
  registers_.values[kRbp] = kStack;
  EXPECT_EQ(walk_stack(kJit + 0x10, {kStack + 64, 0}), WalkEnd::kNoRule);
  EXPECT_EQ(pcs().size(), 1u);
}

TEST_F(Walk, EndsAtTheRootWhereFramePointersEndInZeros) {
  registers_.values[kRbp] = kStack;
  EXPECT_EQ(walk_stack(kJit + 0x10, {0, 0}), WalkEnd::kRoot);
  EXPECT_EQ(pcs().size(), 1u);
}

TEST_F(Walk, StopsAtMemoryItCannotRead) {
  EXPECT_EQ(walk_stack(kCode + kPlain, {kCode + kPlain + 9}), WalkEnd::kUnreadable);
  EXPECT_EQ(pcs().size(), 2u);
  EXPECT_EQ(frames_->flags, wire::kStackBroken);
}

TEST_F(Walk, EndsRulesThatDoNotClimb) {
  EXPECT_EQ(walk_stack(kCode + kSelf, {kCode + kSelf + 1}), WalkEnd::kNoRule);
  EXPECT_LE(frames_->frame_count, 2u);
}

// A signal frame that restores itself: the only loop that the check for ascending frames does not
// end.
TEST_F(Walk, BoundsLoopsOfSignalFrames) {
  EXPECT_EQ(walk_stack(kCode + kSignal, {0, kStack, kCode + kSignal}), WalkEnd::kCut);
  EXPECT_EQ(frames_->frame_count, wire::kMaxFrames);
  EXPECT_EQ(frames_->flags, wire::kStackCut);
}

TEST_F(Walk, KeepsBothEndsOfADeepStack) {
  constexpr std::size_t kDepth = 5000;
  Words stack;
  for (std::size_t i = 1; i < kDepth; ++i) stack.push_back(kJit + 1 + i % 0xfff);
  stack.back() = kCode + kRoot + 1;
  // Through code with CFI of the plain kind, so that each word is a frame.
  for (std::size_t i = 0; i + 1 < stack.size(); ++i) stack[i] = kCode + kPlain + 1 + i % 63;
  EXPECT_EQ(walk_stack(kCode + kPlain, stack), WalkEnd::kRoot);
  EXPECT_EQ(frames_->flags, wire::kStackRootReached | wire::kStackCut);
  EXPECT_EQ(frames_->frame_count, wire::kMaxFrames);
  EXPECT_EQ(frames_->omitted_at, kKeptInner);
  for (std::size_t i = 1; i < kKeptInner; ++i) ASSERT_EQ(frames_->pcs[i], stack[i - 1]);
  for (std::size_t i = 0; i < kKeptOuter; ++i) {
    ASSERT_EQ(frames_->pcs[kKeptInner + i], stack[stack.size() - kKeptOuter + i]);
  }
  // Each frame takes one word.
  const Words places = stacks();
  for (std::size_t i = 0; i < kKeptInner; ++i) ASSERT_EQ(places[i], i);
  for (std::size_t i = 0; i < kKeptOuter; ++i) {
    ASSERT_EQ(places[kKeptInner + i], stack.size() + 1 - kKeptOuter + i);
  }
}

// A frame's stack pointer is the CFA of the frame that it called.
TEST_F(Walk, TellsTheStackPointerOfEachFrame) {
  registers_.values[kRbp] = 1;
  const Words stack = {kStack + 40,
                       kCode + kPlain + 5,
                       kCode + kFramed + 5,
                       0,
                       0,
                       kStack + 8 * 9,
                       kCode + kFramed + 5,
                       0,
                       0,
                       0,
                       kCode + kRoot + 9};
  EXPECT_EQ(walk_stack(kCode + kPushed, stack), WalkEnd::kRoot);
  EXPECT_EQ(pcs().size(), 5u);
  EXPECT_EQ(stacks(), (Words{0, 2, 3, 7, 11}));
}

// As in the interrupted code, which may be on another stack.
TEST_F(Walk, TellsTheStackPointerBehindASignalFrame) {
  EXPECT_EQ(walk_stack(kCode + kSignal, {0, kStack + 40, kCode + kPlain, 0, 0, kCode + kRoot + 1}),
            WalkEnd::kRoot);
  EXPECT_EQ(stacks(), (Words{0, 5, 6}));
}

TEST_F(Walk, TellsTheStackPointersOfAContinuedWalk) {
  stack_ = {1, 2, 3, kCode + kPushed + 4, 0, kCode + kRoot + 4};
  registers_.values[kPc] = kCode + kPlain + 4;
  registers_.values[kRsp] = kStack + 24;
  EXPECT_EQ(walk_on(CodeMap(ranges_), registers_, false, {&read_word, this}, *frames_),
            WalkEnd::kRoot);
  EXPECT_EQ(stacks(), (Words{3, 4, 6}));
}

// After CFI was withdrawn, other code or none may be at its address.
TEST_F(Walk, DoesNotBelieveCfiOfCodeThatMayHaveBeenWithdrawn) {
  std::atomic<std::uint32_t> withdrawals{3};
  ranges_[1].is_registered = true;
  const auto cache = std::make_unique<RuleCache>();
  const CodeMap map(ranges_, cache.get(), {&withdrawals, 3});
  stack_ = {kCode + kPushed + 8, 0, kCode + kRoot + 8};
  registers_.values[kPc] = kCode + kPlain + 8;
  registers_.values[kRbp] = 1;
  const StackReader reader{&read_word, this};
  for (int repetition = 0; repetition < 2; ++repetition) {
    EXPECT_EQ(walk(map, registers_, reader, *frames_), WalkEnd::kRoot);
    EXPECT_EQ(frames_->frame_count, 3u);
  }
  withdrawals = 4;
  EXPECT_NE(walk(map, registers_, reader, *frames_), WalkEnd::kRoot);
  for (std::uint32_t at = 0; at < frames_->frame_count; ++at) {
    EXPECT_NE(source(at), wire::FrameSource::kCfi);
  }
}

// The removal of this code is not announced; its bytes show it.
TEST_F(Walk, DoesNotBelieveCfiOfCodeWhoseBytesAreOthers) {
  const std::atomic<std::uint32_t> withdrawals{0};
  std::atomic<bool> contradicted{false};
  ranges_[1].is_registered = true;
  CodeChecksum checksum{.begin = kCode + kPushed, .bytes = 64};
  std::uint64_t hash = 0;
  for (std::uint64_t at = 0; at < 64; at += 8) {
    code_words_[checksum.begin + at] = at * 0x0101010101;
    hash = hash_word(hash, at * 0x0101010101);
  }
  checksum.hash = CodeChecksum::fold(hash);
  const CodeMap map(ranges_, nullptr, {&withdrawals, 0},
                    {std::span<const CodeChecksum>(&checksum, 1), &contradicted});
  stack_ = {kCode + kPushed + 8, 0, kCode + kRoot + 8};
  registers_.values[kPc] = kCode + kPlain + 8;
  registers_.values[kRbp] = 1;
  const StackReader reader{&read_word, this};
  EXPECT_EQ(walk(map, registers_, reader, *frames_), WalkEnd::kRoot);
  EXPECT_EQ(frames_->frame_count, 3u);
  EXPECT_FALSE(contradicted);
  code_words_[checksum.begin + 40] ^= 1;
  EXPECT_NE(walk(map, registers_, reader, *frames_), WalkEnd::kRoot);
  EXPECT_EQ(frames_->frame_count, 2u);  // up to the code that has changed
  EXPECT_TRUE(contradicted);
}

}  // namespace
}  // namespace swipr::unwind
