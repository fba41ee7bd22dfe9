// Code as HotSpot makes it, before, in and behind its frame.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "preload/runtimes/java/java_frames.h"

// Four words of frame; the stack is taken first. Then a frame that stores both registers first, and
// a stub.
__asm__(R"(
  .pushsection .rodata
  .globl java_small_code, java_large_code, java_stub_code
  .hidden java_small_code, java_large_code, java_stub_code
  .balign 64
java_small_code:
  nop
  sub sp, sp, #32
  stp x29, x30, [sp, #16]
  nop
  ldp x29, x30, [sp, #16]
  add sp, sp, #32
  ldr x8, [x28, #920]
  cmp sp, x8
  b.hi java_small_code
  ret
java_large_code:
  stp x29, x30, [sp, #-16]!
  sub sp, sp, #1024
  nop
  add sp, sp, #1024
  ldp x29, x30, [sp], #16
  ret
java_stub_code:
  nop
  nop
  nop
  nop
  ret
  .popsection
)");
extern "C" {
extern const std::uint32_t java_small_code[], java_large_code[], java_stub_code[];
}

namespace swipr::runtimes {
namespace {

struct OwnMemory {
  template <typename T>
  bool read_value(std::uint64_t address, T& out) noexcept {
    std::memcpy(&out, reinterpret_cast<const void*>(address), sizeof out);
    return true;
  }
};

struct FirstFrame : JavaFirstFrame<OwnMemory, OwnMemory> {
  using Base = JavaFirstFrame<OwnMemory, OwnMemory>;
  FirstFrame(const JavaRuntime& java, OwnMemory& memory) noexcept : Base(java, memory, memory) {}
  using Base::caller_stack;
  using Base::step_first;
};

constexpr std::uint64_t kLink = 0x1110, kStored = 0x2220, kFrame = 0x3330, kStoredFrame = 0x4440;

class JavaFirstFrameTest : public testing::Test {
 protected:
  std::uint64_t stack() const { return reinterpret_cast<std::uint64_t>(words_.data()); }
  // The frame's two registers are at that word.
  JavaRegisters registers_at(const std::uint32_t* code, unsigned index, unsigned pair) {
    words_ = {};
    words_[pair] = kStoredFrame;
    words_[pair + 1] = kStored;
    return {.pc = reinterpret_cast<std::uint64_t>(code + index),
            .stack = stack(),
            .frame = kFrame,
            .link = kLink,
            .exact = true};
  }
  static JavaBlob blob_of(const std::uint32_t* code, std::uint32_t words, std::uint32_t complete) {
    return {.address = 1,
            .code = reinterpret_cast<std::uint64_t>(code),
            .frame_words = words,
            .frame_complete = complete * 4,
            .is_method = true};
  }
  void expect(const JavaRegisters& found, std::uint64_t pc, std::uint64_t bytes,
              std::uint64_t frame) {
    EXPECT_EQ(found.pc, pc);
    EXPECT_EQ(found.stack, stack() + bytes);
    EXPECT_EQ(found.frame, frame);
  }

  JavaRuntime java_;
  OwnMemory memory_;
  FirstFrame first_{java_, memory_};
  std::array<std::uint64_t, 8> words_{};
};

TEST_F(JavaFirstFrameTest, ReturnsByTheRegisterWhereASmallFrameIsNotMade) {
  const JavaBlob blob = blob_of(java_small_code, 4, 3);
  for (const unsigned index : {0u, 1u, 6u, 7u, 8u, 9u}) {
    SCOPED_TRACE(index);
    JavaRegisters registers = registers_at(java_small_code, index, 2);
    ASSERT_TRUE(first_.step_first(blob, registers));
    expect(registers, kLink, 0, kFrame);
  }
  JavaRegisters registers = registers_at(java_small_code, 2, 2);
  ASSERT_TRUE(first_.step_first(blob, registers));
  expect(registers, kLink, 32, kFrame);
}

TEST_F(JavaFirstFrameTest, LeavesFramesThatAreMadeToOthers) {
  const JavaBlob small = blob_of(java_small_code, 4, 3);
  for (const unsigned index : {3u, 4u, 5u}) {
    JavaRegisters registers = registers_at(java_small_code, index, 2);
    EXPECT_FALSE(first_.step_first(small, registers)) << index;
  }
  const JavaBlob large = blob_of(java_large_code, 130, 2);
  for (const unsigned index : {2u, 3u}) {
    JavaRegisters registers = registers_at(java_large_code, index, 0);
    EXPECT_FALSE(first_.step_first(large, registers)) << index;
  }
}

TEST_F(JavaFirstFrameTest, FindsWhatALargeFrameHasStoredFirst) {
  const JavaBlob blob = blob_of(java_large_code, 130, 2);
  for (const unsigned index : {1u, 4u}) {
    SCOPED_TRACE(index);
    JavaRegisters registers = registers_at(java_large_code, index, 0);
    ASSERT_TRUE(first_.step_first(blob, registers));
    expect(registers, kStored, 16, kStoredFrame);
  }
  for (const unsigned index : {0u, 5u}) {
    SCOPED_TRACE(index);
    JavaRegisters registers = registers_at(java_large_code, index, 0);
    ASSERT_TRUE(first_.step_first(blob, registers));
    expect(registers, kLink, 0, kFrame);
  }
}

TEST_F(JavaFirstFrameTest, StubsReturnByTheRegisterUnlessTheyHaveStoredIt) {
  const JavaBlob blob = blob_of(java_stub_code, 0, 0);
  JavaRegisters registers = registers_at(java_stub_code, 1, 2);
  ASSERT_TRUE(first_.step_first(blob, registers));
  expect(registers, kLink, 0, kFrame);
  registers = registers_at(java_stub_code, 1, 2);
  registers.frame = stack() + 16;
  registers.link = kStored;
  ASSERT_TRUE(first_.step_first(blob, registers));
  expect(registers, kStored, 32, kStoredFrame);
}

TEST_F(JavaFirstFrameTest, NeedsTheRegister) {
  JavaRegisters registers = registers_at(java_small_code, 0, 2);
  registers.link = 0;
  EXPECT_FALSE(first_.step_first(blob_of(java_small_code, 4, 3), registers));
}

// The stack pointer that an interpreted caller had is below the frames that it has called.
TEST_F(JavaFirstFrameTest, InterpretedCallersHaveTheStackBehindTheFrame) {
  java_.interpreter = {0x1000, 0x2000};
  EXPECT_EQ(first_.caller_stack(0x800, 0x700, 0x1500), 0x810u);
  EXPECT_EQ(first_.caller_stack(0x800, 0x900, 0x2500), 0x900u);
  EXPECT_EQ(first_.caller_stack(0x800, 0x700, 0x2500), 0u);
}

}  // namespace
}  // namespace swipr::runtimes
