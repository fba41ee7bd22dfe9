#include "preload/unwind/walk/walk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/table/unwind_table.h"
#include "preload/unwind/walk/rule_cache.h"
#include "tests/unit/preload/unwind/cfi_image.h"

namespace swipr::unwind {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::uint64_t kStack = 0x7ffe00000000;
constexpr std::uint64_t kCode = CfiImage::kLoadBias + CfiImage::kText;  // with CFI
constexpr std::uint64_t kJit = 0x500000000000;                          // without
constexpr std::uint64_t kNowhere = 0x123456789a;

// Offsets from kCode of functions with these rules.
constexpr std::uint64_t kPlain = 0;     // CFA = rsp + 8
constexpr std::uint64_t kPushed = 64;   // CFA = rsp + 16, rbp saved at CFA - 16
constexpr std::uint64_t kFramed = 128;  // CFA = rbp + 16, rbp saved at CFA - 16
constexpr std::uint64_t kRoot = 192;    // return address undefined
constexpr std::uint64_t kSignal = 256;  // signal frame: pc at rsp + 16, rsp at rsp + 8, rbp at rsp
constexpr std::uint64_t kInRegister = 320;  // return address in rdi, CFA = rsp
constexpr std::uint64_t kBased = 384;       // CFA = rbx + 16
constexpr std::uint64_t kSelf = 448;        // CFA = rsp: makes no progress
constexpr std::uint64_t kRealigned = 512;   // CFA = *(rbp - 8), rbp at rbp
constexpr std::uint64_t kDrap = 576;        // CFA = r10, rbp at rbp
constexpr std::uint64_t kGap = 640;
constexpr std::uint64_t kAlone = 1024;  // as kPlain, after a gap

class Walk : public testing::Test {
 protected:
  Walk() {
    CfiImage image;
    const std::size_t cie = image.add_cie();
    const std::size_t signal_cie = image.add_cie(CfiImage::initial(), {.augmentation = "zRS"});
    const auto add = [&](std::uint64_t offset, const Bytes& instructions) {
      image.add_fde(cie, CfiImage::kText + offset, 64, instructions);
    };
    add(kPlain, {});
    add(kPushed, {0x0e, 16, 0x86, 2});
    add(kFramed, {0x0c, 6, 16, 0x86, 2});
    add(kRoot, {0x07, 16});
    image.add_fde(signal_cie, CfiImage::kText + kSignal, 64,
                  {0x0f, 3, 0x77, 8, 0x06, 0x10, 16, 2, 0x77, 16, 0x10, 6, 2, 0x77, 0});
    add(kInRegister, {0x0e, 0, 0x09, 16, 5});
    add(kBased, {0x0c, 3, 16});
    add(kSelf, {0x0e, 0, 0x90, 0});
    add(kRealigned, {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0});
    add(kDrap, {0x0c, 10, 0, 0x10, 6, 2, 0x76, 0});
    add(kAlone, {});
    built_ = image.build();
    EXPECT_EQ(built_.status, BuildStatus::kOk);
    ranges_ = {{kJit, kJit + 0x1000, 0, nullptr},
               {kCode, kCode + CfiImage::kTextBytes, built_.load_bias, built_.table}};
    registers_.values[kRsp] = kStack;
    registers_.known = 1u << kRsp | 1u << kPc | 1u << kRbp | 1u << kRbx;
  }
  ~Walk() override { destroy_table(built_.table); }

  // Words from kStack upwards.
  WalkEnd walk_stack(std::uint64_t pc, const Words& words) {
    stack_ = words;
    registers_.values[kPc] = pc;
    const StackReader reader{&read_word, this};
    const WalkEnd end = walk(CodeMap(ranges_), registers_, reader, *frames_);
    expect_same_with_cache(end, reader);
    return end;
  }
  static bool read_word(void* state, std::uint64_t address, std::uint64_t& out) noexcept {
    const auto& self = *static_cast<const Walk*>(state);
    if (const auto code = self.code_words_.find(address); code != self.code_words_.end()) {
      out = code->second;
      return true;
    }
    if (address < kStack || (address - kStack) / 8 >= self.stack_.size()) return false;
    out = self.stack_[(address - kStack) / 8];
    return true;
  }
  // The first of these walks fills the cache, the second uses it.
  void expect_same_with_cache(WalkEnd end, StackReader reader) {
    const auto plain = std::make_unique<FrameBuffer>(*frames_);
    const auto cache = std::make_unique<RuleCache>();
    for (int repetition = 0; repetition < 2; ++repetition) {
      EXPECT_EQ(walk(CodeMap(ranges_, cache.get()), registers_, reader, *frames_), end);
      ASSERT_EQ(frames_->frame_count, plain->frame_count);
      EXPECT_EQ(frames_->flags, plain->flags);
      for (std::uint32_t at = 0; at < plain->frame_count; ++at) {
        ASSERT_EQ(frames_->pcs[at], plain->pcs[at]);
        ASSERT_EQ(frames_->kinds[at], plain->kinds[at]);
      }
    }
  }
  Words pcs() const { return {frames_->pcs.begin(), frames_->pcs.begin() + frames_->frame_count}; }
  wire::FrameSource source(std::size_t index) const {
    return static_cast<wire::FrameSource>(frames_->kinds[index] & 3);
  }
  bool is_exact(std::size_t index) const { return (frames_->kinds[index] & 4) != 0; }

  BuildResult built_;
  std::vector<CodeRange> ranges_;
  Words stack_;
  std::map<std::uint64_t, std::uint64_t> code_words_;  // the code that can be read, by address
  Registers registers_;
  std::unique_ptr<FrameBuffer> frames_ = std::make_unique<FrameBuffer>();
};

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

TEST_F(Walk, UsesFramePointersWhereThereIsNoCfi) {
  registers_.values[kRbp] = kStack + 8;
  const Words stack = {0, kStack + 32, kJit + 0x20, 0, 0, kJit + 0x30};
  EXPECT_EQ(walk_stack(kJit + 0x10, stack), WalkEnd::kRoot);  // a saved frame pointer of zero
  EXPECT_EQ(pcs(), (Words{kJit + 0x10, kJit + 0x20, kJit + 0x30}));
  EXPECT_EQ(source(1), wire::FrameSource::kFramePointer);
  registers_.values[kRbp] = kStack + 8;
  EXPECT_EQ(walk_stack(kCode + kGap + 1, stack), WalkEnd::kRoot);  // between two functions
  EXPECT_EQ(source(1), wire::FrameSource::kFramePointer);
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
  CodeWitness witness{.begin = kCode + kPushed, .bytes = 64};
  std::uint64_t hash = 0;
  for (std::uint64_t at = 0; at < 64; at += 8) {
    code_words_[witness.begin + at] = at * 0x0101010101;
    hash = hash_word(hash, at * 0x0101010101);
  }
  witness.hash = CodeWitness::fold(hash);
  const CodeMap map(ranges_, nullptr, {&withdrawals, 0},
                    {std::span<const CodeWitness>(&witness, 1), &contradicted});
  stack_ = {kCode + kPushed + 8, 0, kCode + kRoot + 8};
  registers_.values[kPc] = kCode + kPlain + 8;
  registers_.values[kRbp] = 1;
  const StackReader reader{&read_word, this};
  EXPECT_EQ(walk(map, registers_, reader, *frames_), WalkEnd::kRoot);
  EXPECT_EQ(frames_->frame_count, 3u);
  EXPECT_FALSE(contradicted);
  code_words_[witness.begin + 40] ^= 1;
  EXPECT_NE(walk(map, registers_, reader, *frames_), WalkEnd::kRoot);
  EXPECT_EQ(frames_->frame_count, 2u);  // up to the code that has changed
  EXPECT_TRUE(contradicted);
}

}  // namespace
}  // namespace swipr::unwind
