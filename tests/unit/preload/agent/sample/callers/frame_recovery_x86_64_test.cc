#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <vector>

#include "preload/agent/sample/callers/frame_recovery.h"

namespace swipr::agent {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Code in this process's memory: `put` writes it, `at` is its run-time address.
class CallTest : public testing::Test {
 protected:
  CallTest() { EXPECT_TRUE(memory_.open()); }
  ~CallTest() override { memory_.close(); }
  std::uint64_t at(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t>(code_) + offset;
  }
  void put(std::size_t offset, const Bytes& bytes) {
    std::memcpy(code_ + offset, bytes.data(), bytes.size());
  }
  // Five bytes whose last four are the distance from their end to `target`.
  void put_branch(std::size_t offset, std::uint8_t opcode, std::size_t target) {
    const auto distance = static_cast<std::int32_t>(target) - static_cast<std::int32_t>(offset + 5);
    code_[offset] = opcode;
    std::memcpy(code_ + offset + 1, &distance, sizeof distance);
  }

  static constexpr std::size_t kFunction = 1024;
  ProcMemory memory_;
  alignas(16) std::uint8_t code_[8192] = {};
};

TEST_F(CallTest, ADirectCallLeadsToItsTargetOnly) {
  put_branch(64, 0xe8, kFunction);
  EXPECT_TRUE(is_call_of(memory_, at(69), at(kFunction)));
  EXPECT_FALSE(is_call_of(memory_, at(69), at(kFunction + 16)));
  EXPECT_FALSE(is_call_of(memory_, at(70), at(kFunction)));
}

TEST_F(CallTest, ThroughThePlt) {
  const std::uint64_t slot = at(kFunction);
  put(512, {0xff, 0x25, 0x02, 0, 0, 0, 0, 0});  // jmp *2(%rip)
  std::memcpy(code_ + 520, &slot, sizeof slot);
  put_branch(64, 0xe8, 512);
  EXPECT_TRUE(is_call_of(memory_, at(69), at(kFunction)));
  EXPECT_FALSE(is_call_of(memory_, at(69), at(kFunction + 16)));
}

TEST_F(CallTest, ThroughASlotWithoutAPlt) {
  const std::uint64_t slot = at(kFunction);
  put(64, {0xff, 0x15, 0x02, 0, 0, 0});  // call *2(%rip)
  std::memcpy(code_ + 72, &slot, sizeof slot);
  EXPECT_TRUE(is_call_of(memory_, at(70), at(kFunction)));
  EXPECT_FALSE(is_call_of(memory_, at(70), at(kFunction + 16)));
}

TEST_F(CallTest, ThroughAFunctionThatEndsInAJump) {
  put_branch(64, 0xe8, 512);
  put(512, {0x48, 0x89, 0xf7});  // mov %rsi,%rdi
  put_branch(515, 0xe9, kFunction);
  EXPECT_TRUE(is_call_of(memory_, at(69), at(kFunction)));
  EXPECT_FALSE(is_call_of(memory_, at(69), at(kFunction + 16)));
}

TEST_F(CallTest, APointersTargetIsBelieved) {
  put(64, {0xff, 0xd0});              // call *%rax
  put(80, {0xff, 0x54, 0x24, 0x08});  // call *8(%rsp)
  EXPECT_TRUE(is_call_of(memory_, at(66), at(kFunction)));
  EXPECT_TRUE(is_call_of(memory_, at(84), at(kFunction)));
}

TEST_F(CallTest, OtherCodeIsNoCall) {
  put(64, {0xff, 0xe0});  // jmp *%rax
  EXPECT_FALSE(is_call_of(memory_, at(66), at(kFunction)));
  EXPECT_FALSE(is_call_of(memory_, at(96), at(kFunction)));
  EXPECT_FALSE(is_call_of(memory_, 3, at(kFunction)));
}

// The code runs on one stack and has its frame on another.
class GoroutineFrame : public CallTest {
 protected:
  static constexpr std::size_t kSwitch = 6144;
  static constexpr std::size_t kFrame = 40;  // word of the goroutine's stack

  GoroutineFrame() {
    put(kSwitch, {0x55, 0x48, 0x89, 0xe5, 0xeb, 0x10});  // push %rbp; mov %rsp,%rbp; jmp
    put_branch(64, 0xe8, kSwitch);
    goroutine_ = {address_of(stack_), address_of(stack_ + 64)};
    stack_[kFrame] = address_of(stack_ + kFrame + 8);  // the caller's frame
    stack_[kFrame + 1] = at(69);
    save(0);
  }
  // At that word of the thread's own stack.
  void save(std::size_t word) {
    std::fill(std::begin(own_stack_), std::end(own_stack_), 0);
    own_stack_[word] = (64 - kFrame) * 8;
    own_stack_[word + 1] = address_of(&goroutine_);
  }
  static std::uint64_t address_of(const void* place) {
    return reinterpret_cast<std::uint64_t>(place);
  }
  std::optional<std::uint64_t> recover() {
    return FrameRecovery().recover(memory_, unwind::CodeMap({}), at(kSwitch + 64),
                                   address_of(&own_stack_));
  }

  struct {
    std::uint64_t low;
    std::uint64_t high;
  } goroutine_{};
  std::uint64_t own_stack_[8] = {};
  std::uint64_t stack_[80] = {};
};

TEST_F(GoroutineFrame, IsOnTheStackThatTheCodeCameFrom) {
  EXPECT_EQ(recover(), address_of(stack_ + kFrame));
  save(5);  // Go 1.21
  EXPECT_EQ(recover(), address_of(stack_ + kFrame));
  save(2);
  EXPECT_EQ(recover(), std::nullopt);
}

TEST_F(GoroutineFrame, IsUnknownIfNoCallLedToTheCode) {
  put_branch(64, 0xe8, kSwitch + 16);
  EXPECT_EQ(recover(), std::nullopt);
}

TEST_F(GoroutineFrame, IsUnknownOutsideOfThatStack) {
  own_stack_[0] = 65 * 8;
  EXPECT_EQ(recover(), std::nullopt);
  own_stack_[0] = 0;
  EXPECT_EQ(recover(), std::nullopt);
  save(0);
  own_stack_[1] = 8;  // no goroutine
  EXPECT_EQ(recover(), std::nullopt);
}

}  // namespace
}  // namespace swipr::agent
