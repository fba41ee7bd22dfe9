#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "preload/agent/sample/callers/caller_search.h"
#include "tests/unit/preload/agent/sample/callers/code_page.h"

namespace swipr::agent {
namespace {

using unwind::CfiImage;
using unwind::WalkEnd;
using Code = std::vector<std::uint8_t>;
using Words = std::vector<std::uint64_t>;

constexpr std::size_t kCodeBytes = 8192;
constexpr std::uint64_t kStack = 0x7ffe00000000;
// Offsets of functions.
constexpr std::uint64_t kRoot = 0;      // return address undefined
constexpr std::uint64_t kPlain = 64;    // CFA = rsp + 16
constexpr std::uint64_t kFramed = 128;  // CFA = rbp + 16
constexpr std::uint64_t kGap = 512;     // no CFI
constexpr std::uint64_t kBehind = 6144;
constexpr std::uint64_t kPc = kGap + 16;
constexpr std::uint64_t kReturn = 16;  // into each function: after a call

// Code in this process's memory with artificial CFI, and a stack that is not in memory.
class CallerSearchTest : public CodePageTest {
 protected:
  CallerSearchTest() : CodePageTest(kCodeBytes) {
    CfiImage image;
    const std::size_t cie = image.add_cie();
    image.add_fde(cie, CfiImage::kText + kRoot, 64, {0x07, 16});
    image.add_fde(cie, CfiImage::kText + kPlain, 64, {0x0e, 16});
    image.add_fde(cie, CfiImage::kText + kFramed, 64, {0x0c, 6, 16, 0x86, 2});
    image.add_fde(cie, CfiImage::kText + kBehind, 64, {});
    build_table(image);
    for (const std::uint64_t function : {kRoot, kPlain, kFramed}) put_computed_call(function);
    registers_.known = 1u << unwind::kRsp;
    registers_.values[unwind::kRsp] = kStack;
  }

  void put(std::uint64_t offset, const Code& bytes) {
    if (!bytes.empty()) std::memcpy(code_ + offset, bytes.data(), bytes.size());
  }
  // Directly before the function's kReturn.
  void put_computed_call(std::uint64_t function) { put(function + kReturn - 3, {0xff, 0x50, 8}); }
  void put_direct_call(std::uint64_t function, std::uint64_t target) {
    put_call_before(function + kReturn, target);
  }
  std::uint64_t return_into(std::uint64_t function) const { return at(function + kReturn); }

  CodeGap gap() const { return *CodeGap::find(unwind::CodeMap(map_ranges()), at(kPc)); }
  std::span<const unwind::CodeRange> map_ranges() const { return std::span(&range_, 1); }

  // Position of the caller's return address: the number of the word; -1: none was found.
  int find(const Words& stack) {
    const unwind::CodeMap map(map_ranges());
    struct Reader {
      const Words& words;
      bool read_word(std::uint64_t address, std::uint64_t& out) const {
        const std::uint64_t index = (address - kStack) / 8;
        if (index >= words.size()) return false;
        out = words[index];
        return true;
      }
    } reader{stack};
    kept_.resize(wire::kMaxFrames);
    kept_.resize(unwind::keep_stack_words(map, reader, kStack, std::span(kept_)));
    const unwind::StackWords words(kStack, kept_);
    const CallerWalk walk{[](void* state, unwind::Registers& caller, KeptStack& kept) noexcept {
                            auto& self = *static_cast<CallerSearchTest*>(state);
                            return unwind::walk_on(unwind::CodeMap(self.map_ranges()), caller,
                                                   false, kept.reader(), *self.frames_);
                          },
                          this};
    search_->forget();
    const auto caller = search_->find(memory_, map, gap(), registers_, words, walk);
    if (!caller) return -1;
    EXPECT_EQ(caller->values[unwind::kPc], stack[(caller->values[unwind::kRsp] - kStack) / 8 - 1]);
    return static_cast<int>((caller->values[unwind::kRsp] - kStack) / 8) - 1;
  }
  std::optional<StackPlace> return_place(const Code& code) {
    put(kPc, code);
    ReturnPlaces places;
    return places.find(memory_, gap());
  }

  unwind::Registers registers_;
  std::vector<std::uint64_t> kept_;
  std::unique_ptr<CallerSearch> search_ = std::make_unique<CallerSearch>();
  std::unique_ptr<unwind::FrameBuffer> frames_ = std::make_unique<unwind::FrameBuffer>();
};

TEST_F(CallerSearchTest, FindsTheOnlyWordThatPasses) {
  // The return address into kRoot is that of the walk itself, so it does not count as another
  // candidate.
  EXPECT_EQ(find({1, 2, return_into(kPlain), 3, return_into(kRoot), 4}), 2);
}

TEST_F(CallerSearchTest, FindsNothingWithoutACall) {
  EXPECT_EQ(find({at(kPlain + 40), 3, return_into(kRoot) + 1}), -1);
}

TEST_F(CallerSearchTest, ACallThatLeadsElsewhereIsNone) {
  put_direct_call(kPlain, kBehind);
  put_direct_call(kRoot, kBehind);
  EXPECT_EQ(find({return_into(kPlain), 3, return_into(kRoot)}), -1);
  put_direct_call(kPlain, kGap);
  EXPECT_EQ(find({return_into(kPlain), 3, return_into(kRoot)}), 0);
  put_direct_call(kPlain, kPc + 1);  // into the gap, after the executed code
  EXPECT_EQ(find({return_into(kPlain), 3, return_into(kRoot)}), -1);
}

TEST_F(CallerSearchTest, AWordWhoseWalkDoesNotReachTheRootIsNone) {
  EXPECT_EQ(find({return_into(kPlain), 3, 4, return_into(kRoot)}), 3);
  EXPECT_EQ(find({return_into(kPlain), 3}), -1) << "the stack ends";
}

TEST_F(CallerSearchTest, TwoThatPassAreTooMany) {
  EXPECT_EQ(find({return_into(kPlain), 3, return_into(kRoot), return_into(kPlain), 3,
                  return_into(kRoot)}),
            -1);
}

TEST_F(CallerSearchTest, OneThatMayPassIsARival) {
  EXPECT_EQ(find({return_into(kFramed), return_into(kPlain), 3, return_into(kRoot)}), -1);
}

TEST_F(CallerSearchTest, ACallThatNamesTheCodeOutdoesComputedOnes) {
  put_direct_call(kPlain, kGap);
  EXPECT_EQ(
      find({return_into(kFramed), return_into(kRoot), return_into(kPlain), 3, return_into(kRoot)}),
      2);
}

TEST_F(CallerSearchTest, TheCodeItselfSaysWhereItReturns) {
  put(kPc, {0x48, 0x83, 0xc4, 0x18, 0xc3});  // add $24,%rsp; ret
  const Words stack = {return_into(kPlain), 3, return_into(kRoot),
                       return_into(kPlain), 3, return_into(kRoot)};
  EXPECT_EQ(find(stack), 3);
  put(kPc, {0x48, 0x83, 0xc4, 0x08, 0xc3});  // add $8,%rsp; ret: there is no return address
  EXPECT_EQ(find(stack), -1);
}

TEST_F(CallerSearchTest, ARegisterSaysWhereTheCodeReturns) {
  put(kPc, {0x48, 0x89, 0xdc, 0xc3});  // mov %rbx,%rsp; ret
  const Words stack = {return_into(kPlain), 3, return_into(kRoot),
                       return_into(kPlain), 3, return_into(kRoot)};
  EXPECT_EQ(find(stack), -1) << "unknown";
  registers_.known |= 1u << unwind::kRbx;
  registers_.values[unwind::kRbx] = kStack + 24;
  EXPECT_EQ(find(stack), 3);
  registers_.values[unwind::kRbx] = kStack + 0x1000'0000;
  EXPECT_EQ(find(stack), -1);
}

TEST_F(CallerSearchTest, AnEmptyStackHasNoCaller) { EXPECT_EQ(find({}), -1); }

TEST_F(CallerSearchTest, AGapIsCodeBetweenFdes) {
  const unwind::CodeMap map(map_ranges());
  EXPECT_FALSE(CodeGap::find(map, at(kPlain)));
  EXPECT_FALSE(CodeGap::find(map, at(kCodeBytes)));
  EXPECT_TRUE(gap().contains(at(kGap)));
  EXPECT_TRUE(gap().contains(at(kBehind - 1)));
  EXPECT_FALSE(gap().contains(at(kBehind)));
  EXPECT_FALSE(gap().contains(at(kBehind + 64))) << "behind the last FDE is another gap";
  EXPECT_FALSE(gap().contains(at(kCodeBytes)));
  range_.is_registered = true;
  const std::atomic<std::uint32_t> withdrawals{0};
  EXPECT_FALSE(CodeGap::find(unwind::CodeMap(map_ranges(), nullptr, {&withdrawals, 0}), at(kPc)));
  range_.is_registered = false;
  range_.table = nullptr;
  EXPECT_FALSE(CodeGap::find(unwind::CodeMap(map_ranges()), at(kPc)));
  range_.table = built_.table;
}

TEST_F(CallerSearchTest, FollowsTheStackPointerToTheReturn) {
  EXPECT_EQ(return_place({0xc3}), StackPlace{});
  EXPECT_EQ(return_place({0x5b, 0x41, 0x5c, 0xc3}), StackPlace{.offset = 16});  // pop, pop
  EXPECT_EQ(return_place({0x55, 0x48, 0x83, 0xec, 0x10, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3}),
            StackPlace{});
  EXPECT_EQ(return_place({0xc9, 0xc3}), (StackPlace{.reg = unwind::kRbp, .offset = 8}));  // leave
  // mov %r11,%rsp; add $96,%rsp
  EXPECT_EQ(return_place({0x4c, 0x89, 0xdc, 0x48, 0x83, 0xc4, 0x60, 0xc3}),
            (StackPlace{.reg = 11, .offset = 96}));
  // lea -24(%rbp),%rsp
  EXPECT_EQ(return_place({0x48, 0x8d, 0x65, 0xe8, 0xc3}),
            (StackPlace{.reg = unwind::kRbp, .offset = -24}));
}

TEST_F(CallerSearchTest, FollowsASavedStackPointer) {
  // mov %rsp,%rbx; and $-4096,%rsp; mov %rbx,%rsp
  EXPECT_EQ(return_place(
                {0x48, 0x89, 0xe3, 0x48, 0x81, 0xe4, 0, 0xf0, 0xff, 0xff, 0x48, 0x89, 0xdc, 0xc3}),
            StackPlace{});
  // and $-16,%rsp
  EXPECT_EQ(return_place({0x48, 0x83, 0xe4, 0xf0, 0xc3}), std::nullopt);
  // mov 8(%rsp),%rsp; add %rax,%rsp; sub %rax,%rsp with the other encoding
  EXPECT_EQ(return_place({0x48, 0x8b, 0x64, 0x24, 8, 0xc3}), std::nullopt);
  EXPECT_EQ(return_place({0x48, 0x01, 0xc4, 0xc3}), std::nullopt);
  EXPECT_EQ(return_place({0x48, 0x2b, 0xe0, 0xc3}), std::nullopt);
  // cmp %rax,%rsp and mov %rax,8(%rsp) write nothing there
  EXPECT_EQ(return_place({0x48, 0x39, 0xc4, 0x48, 0x89, 0x44, 0x24, 8, 0xc3}), StackPlace{});
}

TEST_F(CallerSearchTest, FollowsJumpsThatAreAlwaysTaken) {
  EXPECT_EQ(return_place({0x75, 0x10, 0xeb, 0x01, 0x5b, 0xc3}), StackPlace{});  // over the pop
  EXPECT_EQ(return_place({0x58, 0xeb, 0xfd, 0xc3}), StackPlace{.offset = 8});   // a loop
  Code tail = {0x58, 0xe9, 0, 0, 0, 0};
  const auto distance = static_cast<std::int32_t>(kBehind - (kPc + tail.size()));
  std::memcpy(&tail[2], &distance, sizeof distance);
  EXPECT_EQ(return_place(tail), StackPlace{.offset = 8});
}

TEST_F(CallerSearchTest, CodeThatDoesNotReturnSaysNothing) {
  EXPECT_EQ(return_place(Code(15, 0x66)), std::nullopt) << "no instruction";
  std::memset(code_ + kPc, 0x90, kBehind - kPc);
  EXPECT_EQ(return_place({}), std::nullopt) << "runs into code with CFI";
}

TEST_F(CallerSearchTest, AReturnAddressOnTopIsOneThatTheCodeReturnsTo) {
  put(kPc, {0xc3});
  EXPECT_TRUE(search_->returns_to_top(memory_, gap(), return_into(kPlain)));
  EXPECT_FALSE(search_->returns_to_top(memory_, gap(), return_into(kPlain) + 1));
  search_->forget();
  put(kPc, {0x58, 0xc3});
  EXPECT_FALSE(search_->returns_to_top(memory_, gap(), return_into(kPlain)));
}

}  // namespace
}  // namespace swipr::agent
