#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "preload/agent/sample/callers/frame_recovery.h"
#include "tests/unit/preload/agent/sample/callers/code_page.h"

namespace swipr::agent {
namespace {

using unwind::Bytes;
using unwind::CfiImage;

constexpr std::size_t kBytes = 4096;
// A function whose CFA is x29 + 48 behind its prologue, and one that calls it.
constexpr std::uint64_t kFunction = 0, kCaller = 1024, kPc = kFunction + 64;
constexpr std::uint32_t kBranch = 0xb4000040;  // cbz x0

class FrameRecoveryTest : public CodePageTest {
 protected:
  FrameRecoveryTest() : CodePageTest(kBytes) {
    for (std::uint64_t offset = 0; offset < kBytes; offset += 4) put(offset, {0xd503201f});  // nop
    CfiImage image;
    const std::size_t cie = image.add_cie(Bytes{0x0c, 31, 0}, {.return_address = 30});
    image.add_fde(cie, CfiImage::kText + kFunction, 256, {0x0c, 29, 48, 0x9d, 6, 0x9e, 5});
    image.add_fde(cie, CfiImage::kText + kCaller, 256, {});
    build_table(image);
    put_call_before(kCaller + 8, kFunction);
  }
  void put(std::uint64_t offset, std::initializer_list<std::uint32_t> instructions) {
    std::memcpy(code_ + offset, instructions.begin(), instructions.size() * 4);
  }
  // The word from the stack pointer on where the frame is; -1: it is not found.
  std::ptrdiff_t find() {
    const unwind::CodeMap map(std::span(&range_, 1));
    const auto frame = FrameRecovery().recover(memory_, map, at(kPc), address_of(0));
    return !frame ? -1 : static_cast<std::ptrdiff_t>((*frame - address_of(0)) / 8);
  }
  std::uint64_t address_of(std::size_t word) {
    return reinterpret_cast<std::uint64_t>(stack_.data() + word);
  }
  void put_frame_at(std::size_t word, std::uint64_t return_address) {
    stack_ = {};
    stack_[word + 1] = return_address;
  }

  std::array<std::uint64_t, 1024> stack_{};
};

TEST_F(FrameRecoveryTest, IsAboveTheStackThatTheFirstBlockTakes) {
  put_frame_at(30, at(kCaller + 8));
  // sub sp, sp, #288; stp x29, x30, [sp, #240]; add x29, sp, #240
  put(kFunction, {0xd10483ff, 0xa90f7bfd, 0x9103c3fd, kBranch});
  EXPECT_EQ(find(), 30);
  // stp x29, x30, [sp, #-48]!; mov x29, sp; sub sp, sp, #240
  put(kFunction, {0xa9bd7bfd, 0x910003fd, 0xd103c3ff, kBranch});
  EXPECT_EQ(find(), 30);
  // stp d8, d9, [sp, #-16]!; str x28, [sp, #-16]!; stp x29, x30, [sp, #-16]!; mov x29, sp
  put(kFunction, {0x6dbf27e8, 0xf81f0ffc, 0xa9bf7bfd, 0x910003fd, 0xd103c3ff, kBranch});
  EXPECT_EQ(find(), 30);
  // stp q8, q9, [sp, #-32]!; stp x29, x30, [sp, #-16]!; mov x29, sp; sub sp, sp, #1, lsl #12
  put(kFunction, {0xadbf27e8, 0xa9bf7bfd, 0x910003fd, 0xd14007ff, kBranch});
  put_frame_at(512, at(kCaller + 8));
  EXPECT_EQ(find(), 512);
}

TEST_F(FrameRecoveryTest, IsUnknownIfThePrologueIsNotInTheFirstBlock) {
  put_frame_at(30, at(kCaller + 8));
  put(kFunction, {kBranch, 0xa9bd7bfd, 0x910003fd, 0xd103c3ff, kBranch});
  EXPECT_EQ(find(), -1);
  put(kFunction, {0xa9bd7bfd, 0x910003fd, kBranch, 0xd103c3ff, kBranch});
  EXPECT_EQ(find(), -1) << "the stack is taken behind a branch";
}

TEST_F(FrameRecoveryTest, IsUnknownIfTheCodeHasAnotherFrameThanItsCfi) {
  put_frame_at(30, at(kCaller + 8));
  put(kFunction, {0xa9be7bfd, 0x910003fd, 0xd103c3ff, kBranch});  // stp x29, x30, [sp, #-32]!
  EXPECT_EQ(find(), -1);
}

TEST_F(FrameRecoveryTest, IsUnknownIfNoCallLedToTheFunction) {
  put(kFunction, {0xa9bd7bfd, 0x910003fd, 0xd103c3ff, kBranch});
  put_frame_at(30, at(kCaller + 12));
  EXPECT_EQ(find(), -1);
  put_frame_at(30, 0);
  EXPECT_EQ(find(), -1);
  put_call_before(kCaller + 12, kFunction + 4);
  put_frame_at(30, at(kCaller + 12));
  EXPECT_EQ(find(), -1) << "into its middle";
  put(kCaller + 8, {0xd63f0000});  // blr x0
  EXPECT_EQ(find(), 30);
}

}  // namespace
}  // namespace swipr::agent
