#include "preload/agent/stack_table.h"

#include <gtest/gtest.h>

#include <memory>

namespace swipr::agent {
namespace {

class StackTableTest : public testing::Test {
 protected:
  StackTableTest() { EXPECT_TRUE(table_.create()); }
  ~StackTableTest() override { table_.release(); }

  std::uint32_t intern(std::uint64_t first_pc, std::uint32_t frame_count = 3,
                       std::uint32_t wait_syscall = 0) {
    frames_->frame_count = frame_count;
    for (std::uint32_t frame = 0; frame < frame_count; ++frame) {
      frames_->pcs[frame] = first_pc + frame;
      frames_->kinds[frame] = 1;
    }
    return table_.intern(*frames_, wait_syscall, is_new_);
  }

  StackTable table_;
  bool is_new_ = false;
  std::unique_ptr<unwind::FrameBuffer> frames_ = std::make_unique<unwind::FrameBuffer>();
};

TEST_F(StackTableTest, EqualStacksHaveOneId) {
  EXPECT_EQ(intern(0x1000), 1u);
  EXPECT_TRUE(is_new_);
  EXPECT_EQ(intern(0x2000), 2u);
  EXPECT_EQ(intern(0x1000), 1u);
  EXPECT_FALSE(is_new_);
  EXPECT_EQ(table_.stack(2).pcs()[1], 0x2001u);
}

TEST_F(StackTableTest, StacksThatDifferInAnythingDiffer) {
  const std::uint32_t plain = intern(0x1000);
  EXPECT_NE(intern(0x1000, 2), plain);
  EXPECT_NE(intern(0x1000, 3, 1), plain);
  frames_->flags = 1;
  EXPECT_NE(intern(0x1000), plain);
  frames_->flags = 0;
  intern(0x1000);
  frames_->kinds[2] = 5;
  EXPECT_NE(table_.intern(*frames_, 0, is_new_), plain);
}

TEST_F(StackTableTest, IsBoundedAndBeginsAgain) {
  std::uint32_t count = 0;
  while (intern(0x1000 + 16 * std::uint64_t{count}) != 0) ++count;
  EXPECT_EQ(count, StackTable::kMaxStacks);
  table_.start_generation();
  EXPECT_EQ(intern(0x1000), 1u);
  while (intern(0x10000 * std::uint64_t{table_.stack_count() + 2}, wire::kMaxFrames) != 0) {
  }
  EXPECT_GT(table_.stack_count(), 500u);
  EXPECT_LT(table_.stack_count() * wire::kMaxFrames * 9, StackTable::kMemoryBytes);
}

}  // namespace
}  // namespace swipr::agent
