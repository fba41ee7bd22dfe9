// Frame pointers, guesses and changes of the stack, where no rule is known.
#include <gtest/gtest.h>

#include "tests/unit/preload/unwind/walk/walk_fixture.h"

namespace swipr::unwind {
namespace {

TEST_F(Walk, UsesFramePointersWhereThereIsNoCfi) {
  registers_.values[kRbp] = kStack + 8;
  const Words stack = {0, kStack + 32, kJit + 0x20, 0, 0, kJit + 0x30};
  EXPECT_EQ(walk_stack(kJit + 0x10, stack), WalkEnd::kRoot);  // a saved frame pointer of zero
  EXPECT_EQ(pcs(), (Words{kJit + 0x10, kJit + 0x20, kJit + 0x30}));
  EXPECT_EQ(stacks(), (Words{0, 3, 6}));
  EXPECT_EQ(source(1), wire::FrameSource::kFramePointer);
  registers_.values[kRbp] = kStack + 8;
  EXPECT_EQ(walk_stack(kCode + kGap + 1, stack), WalkEnd::kRoot);  // between two functions
  EXPECT_EQ(source(1), wire::FrameSource::kFramePointer);
}

// Go's crosscall2: its assembler saves the frame pointer, and then it does so itself.
TEST_F(Walk, PassesAFrameWithTwoRecords) {
  registers_.values[kRbp] = kStack + 8;
  // The inner record leads to the outer one, whose saved frame pointer would be a return address.
  const Words stack = {0, kStack + 16, 0, kJit + 0x20, kCode + kRoot + 1};
  EXPECT_EQ(walk_stack(kJit + 0x10, stack), WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{kJit + 0x10, kJit + 0x20}));
  EXPECT_EQ(stacks(), (Words{0, 4}));
  const Words looping = {0, kStack + 16, kStack + 24, kStack + 32, kStack + 40, 0};
  EXPECT_EQ(walk_stack(kJit + 0x10, looping), WalkEnd::kNoRule);
}

TEST_F(Walk, FollowsTheFramePointerToTheStackThatTheCodeCameFrom) {
  constexpr std::uint64_t kSwitcher = kJit + 0x100;
  constexpr std::uint64_t kReturnAddress = kJit + 0x40;
  const std::uint64_t call = (kSwitcher - kReturnAddress) << 32 | 0xe8u << 24;
  const Words stack = {kStack + 64, kReturnAddress,   0, 0, 0,
                       0,           kSwitcher + 0x20, 0, 0, kCode + kRoot + 1};
  registers_.values[kRsp] = kStack + 48;
  registers_.values[kRbp] = kStack;  // below: the other stack
  code_words_[kReturnAddress - 8] = call;
  EXPECT_EQ(walk_stack(kCode + kPlain, stack), WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{kCode + kPlain, kSwitcher + 0x20, kReturnAddress, kCode + kRoot + 1}));
  code_words_[kReturnAddress - 8] = call + (std::uint64_t{0x400} << 32);  // leads elsewhere
  EXPECT_EQ(walk_stack(kCode + kPlain, stack), WalkEnd::kNoRule);
  EXPECT_EQ(pcs(), (Words{kCode + kPlain, kSwitcher + 0x20}));
}

TEST_F(Walk, GivesUpBetweenStacksThatPointAtEachOther) {
  constexpr std::uint64_t kSwitcher = kJit + 0x100;
  constexpr std::uint64_t kReturnAddress = kSwitcher + 0x40;
  code_words_[kReturnAddress - 8] = (kSwitcher - kReturnAddress) << 32 | 0xe8u << 24;
  const Words stack = {kStack, kReturnAddress};
  registers_.values[kRsp] = kStack + 48;
  registers_.values[kRbp] = kStack;
  EXPECT_EQ(walk_stack(kSwitcher + 0x20, stack), WalkEnd::kNoRule);
}

TEST_F(Walk, PrefersTheCallOnTopOfTheStackToTheCallersFramePointer) {
  constexpr std::uint64_t kLeaf = kCode + kGap;
  constexpr std::uint64_t kReturnAddress = kCode + kPlain + 32;
  constexpr std::uint64_t kCall = (kLeaf - kReturnAddress) << 32 | 0xe8u << 24;
  registers_.values[kRbp] = kStack + 16;
  const Words stack = {kReturnAddress, kCode + kRoot + 1, 0, kCode + kRoot + 2};
  code_words_[kReturnAddress - 8] = kCall;
  EXPECT_EQ(walk_stack(kLeaf + 1, stack), WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{kLeaf + 1, kReturnAddress, kCode + kRoot + 1}));
  EXPECT_EQ(source(1), wire::FrameSource::kGuess);
  code_words_[kReturnAddress - 8] = kCall + (std::uint64_t{64} << 32);  // leads elsewhere
  EXPECT_EQ(walk_stack(kLeaf + 1, stack), WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{kLeaf + 1, kCode + kRoot + 2}));
  EXPECT_EQ(source(1), wire::FrameSource::kFramePointer);
}

TEST_F(Walk, EndsAtTheCodeThatEndsAFiber) {
  constexpr std::uint64_t kFinish = kCode + kGap + 40;
  const Words stack = {0, kFinish, kFinish, kCode + kRoot + 1};
  registers_.values[kRbp] = kStack + 8;
  EXPECT_EQ(walk_stack(kCode + kFramed + 1, stack), WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{kCode + kFramed + 1, kFinish}));
  EXPECT_FALSE(frames_->hole.exists);
  // As an interrupted instruction it is code like any other: its caller is not known.
  registers_.values[kRbp] = kFinish;
  EXPECT_NE(walk_stack(kFinish, {kNowhere}), WalkEnd::kRoot);
}

TEST_F(Walk, TellsWhereItLeftCodeThatMayHaveAnyFrame) {
  registers_.values[kRbp] = kNowhere;
  EXPECT_NE(walk_stack(kCode + kPlain, {kCode + kGap + 32, 7, 8}), WalkEnd::kRoot);
  EXPECT_EQ(frames_->hole.frame, 1u);
  EXPECT_EQ(frames_->hole.stack, kStack + 8);
  EXPECT_TRUE(has_lost_caller(*frames_));
  // A second gap changes nothing.
  registers_.values[kRbp] = kStack + 16;
  EXPECT_NE(walk_stack(kCode + kGap + 1, {7, 8, 9, kCode + kGap + 40}), WalkEnd::kRoot);
  EXPECT_EQ(pcs().size(), 2u);
  EXPECT_EQ(frames_->hole.frame, 0u);
  EXPECT_EQ(frames_->hole.stack, kStack);
}

TEST_F(Walk, HasNotLostACallerWhereItGotThroughOrWasNeverInSuchCode) {
  registers_.values[kRbp] = kStack + 8;
  EXPECT_EQ(walk_stack(kCode + kGap + 1, {7, 8, kCode + kRoot + 1}), WalkEnd::kRoot);
  EXPECT_FALSE(has_lost_caller(*frames_));
  // Code of an image without CFI, smashed return addresses.
  registers_.values[kRbp] = kNowhere;
  EXPECT_EQ(walk_stack(kJit + 0x10, {7}), WalkEnd::kNoRule);
  EXPECT_FALSE(has_lost_caller(*frames_));
  EXPECT_EQ(walk_stack(kCode + kPlain, {kNowhere}), WalkEnd::kNoRule);
  EXPECT_FALSE(has_lost_caller(*frames_));
}

TEST_F(Walk, GuessesOnlyForTheInnermostFrame) {
  EXPECT_EQ(walk_stack(kJit + 0x10, {kCode + kRoot + 5}), WalkEnd::kRoot);
  EXPECT_EQ(source(1), wire::FrameSource::kGuess);
  registers_.values[kRbp] = kNowhere;
  EXPECT_EQ(walk_stack(kCode + kPlain, {kJit + 0x10, kCode + kRoot + 5}), WalkEnd::kNoRule);
  EXPECT_EQ(pcs(), (Words{kCode + kPlain, kJit + 0x10}));
}

TEST_F(Walk, FollowsACallThroughANullPointer) {
  registers_.values[kRbp] = kStack + 8;  // of the caller: it must not be skipped
  EXPECT_EQ(walk_stack(0, {kCode + kPlain + 5, kCode + kRoot + 1, kCode + kPlain}), WalkEnd::kRoot);
  EXPECT_EQ(pcs(), (Words{0, kCode + kPlain + 5, kCode + kRoot + 1}));
  EXPECT_EQ(source(1), wire::FrameSource::kGuess);
}

}  // namespace
}  // namespace swipr::unwind
