#include "preload/agent/record/stream/stack_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace swipr::agent {
namespace {

class StackTableTest : public testing::Test {
 protected:
  StackTableTest() { EXPECT_TRUE(table_.create()); }
  ~StackTableTest() override { table_.release(); }

  std::uint32_t intern(std::uint64_t first_pc, std::uint32_t frame_count = 3, WaitKey wait = {}) {
    frames_->frame_count = frame_count;
    for (std::uint32_t frame = 0; frame < frame_count; ++frame) {
      frames_->pcs[frame] = first_pc + frame;
      frames_->kinds[frame] = 1;
    }
    return table_.intern(*frames_, wait, is_new_);
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
  const std::uint32_t waiting = intern(0x1000, 3, {.syscall = 1});
  EXPECT_NE(waiting, plain);
  EXPECT_NE(intern(0x1000, 3, {.syscall = 1, .channel = 2}), waiting);
  const WaitKey monitor{.syscall = 1, .runtime = {.kind = RuntimeWait::kMonitor, .type = 1}};
  const std::uint32_t entering = intern(0x1000, 3, monitor);
  EXPECT_NE(entering, waiting);
  WaitKey other = monitor;
  other.runtime.type = 2;
  EXPECT_NE(intern(0x1000, 3, other), entering);
  other = monitor;
  other.runtime.holder_tid = 7;
  EXPECT_NE(intern(0x1000, 3, other), entering);
  EXPECT_EQ(intern(0x1000, 3, monitor), entering);
  frames_->flags = 1;
  EXPECT_NE(intern(0x1000), plain);
  frames_->flags = 0;
  intern(0x1000);
  frames_->kinds[2] = 5;
  EXPECT_NE(table_.intern(*frames_, {}, is_new_), plain);
}

TEST_F(StackTableTest, AStackHasAFewLocksAndThenAllOthers) {
  WaitKey mutex{.syscall = 1, .runtime = {.kind = RuntimeWait::kMutex, .holder_tid = 7}};
  std::uint32_t ids[StackTable::kMaxLocks] = {};
  for (unsigned lock = 0; lock < StackTable::kMaxLocks; ++lock) {
    mutex.lock = 0x4000 + 40 * lock;
    ids[lock] = intern(0x1000, 3, mutex);
    EXPECT_TRUE(is_new_);
    EXPECT_EQ(table_.stack(ids[lock]).wait.lock, mutex.lock);
  }
  mutex.lock = 0x9000;
  const std::uint32_t others = intern(0x1000, 3, mutex);
  EXPECT_TRUE(is_new_);
  EXPECT_EQ(table_.stack(others).wait.lock, 0u);
  mutex.lock = 0x9040;
  EXPECT_EQ(intern(0x1000, 3, mutex), others);
  for (unsigned lock = 0; lock < StackTable::kMaxLocks; ++lock) {
    mutex.lock = 0x4000 + 40 * lock;
    EXPECT_EQ(intern(0x1000, 3, mutex), ids[lock]);
  }
  mutex.lock = 0x9000;
  mutex.runtime.holder_tid = 8;  // another stack
  EXPECT_EQ(table_.stack(intern(0x1000, 3, mutex)).wait.lock, 0x9000u);
  EXPECT_EQ(table_.stack_count(), StackTable::kMaxLocks + 2);
}

TEST_F(StackTableTest, AStackWithinCallsIsItsOwn) {
  const std::uint32_t base = intern(0x1000);
  const auto first = pack_call({.probe = 31, .place = 5, .start_ns = 1'000});
  const auto second = pack_call({.probe = 31, .place = 5, .start_ns = 1'001});
  const std::uint32_t within = table_.intern_within(base, first, is_new_);
  EXPECT_TRUE(is_new_);
  EXPECT_NE(within, base);
  EXPECT_NE(table_.intern_within(base, second, is_new_), within);
  EXPECT_EQ(table_.intern_within(base, first, is_new_), within);
  EXPECT_FALSE(is_new_);
  EXPECT_NE(table_.intern_within(intern(0x2000), first, is_new_), within);
  const StoredStack& stored = table_.stack(within);
  EXPECT_EQ(stored.base, base);
  EXPECT_EQ(unpack_call(stored.pcs()[0], stored.pcs()[1]),
            (wire::OpenCall{.probe = 31, .place = 5, .start_ns = 1'000}));
  EXPECT_EQ(intern(0x1000), base);
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

TEST(WaitChannels, NameWhatIsAFunctionAndNothingElse) {
  WaitChannels channels;
  const std::uint32_t first = channels.number_of("futex_do_wait");
  const std::uint32_t second = channels.number_of("ep_poll.constprop.0");
  EXPECT_NE(first, second);
  EXPECT_EQ(channels.number_of("futex_do_wait"), first);
  EXPECT_EQ(channels.name(first), "futex_do_wait");
  EXPECT_EQ(channels.name(second), "ep_poll.constprop.0");
  for (const char* none : {"", "0", "futex wait", "a\nb", "[f]"}) {
    EXPECT_EQ(channels.number_of(none), 0u) << none;
  }
  EXPECT_EQ(channels.number_of(std::string(48, 'x')), 0u);
  EXPECT_EQ(channels.name(0), "");
  EXPECT_EQ(channels.name(1000), "");
  for (int index = 0; index < 200; ++index) channels.number_of("f" + std::to_string(index));
  EXPECT_EQ(channels.number_of("one_too_many"), 0u);
  EXPECT_EQ(channels.name(first), "futex_do_wait");
}

}  // namespace
}  // namespace swipr::agent
