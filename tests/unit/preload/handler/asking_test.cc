#include "preload/handler/asking.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "preload/handler/signals/disposition.h"

namespace swipr::handler {
namespace {

class AskingTest : public testing::Test {
 protected:
  AskingTest() {
    set_disposition_owner(::getpid(), SIGURG);
    set_asking(true);
  }
  ~AskingTest() override {
    set_asking(false);
    set_disposition_owner(0, 0);
  }
  static constexpr std::int32_t kOtherThread = 1;
};

TEST_F(AskingTest, NobodyIsAskedWhileAMaskChanges) {
  const Asking asking(kOtherThread);
  EXPECT_TRUE(asking.is_calm());
  std::optional<MaskChange> change(true);
  EXPECT_FALSE(asking.is_calm());
  change.reset();
  EXPECT_TRUE(asking.is_calm());
}

TEST_F(AskingTest, EachChangeMayHaveChangedWhatWasKnown) {
  const Asking asking(kOtherThread);
  const std::uint32_t before = asking.mask_epoch();
  { const MaskChange unblocks(false); }
  EXPECT_NE(asking.mask_epoch(), before);
}

TEST_F(AskingTest, WithoutRecordingsNobodyWaitsForAnybody) {
  set_asking(false);
  const Asking asking(kOtherThread);
  const MaskChange change(true);
  EXPECT_TRUE(asking.is_calm());
}

TEST_F(AskingTest, AChangeThatWasForgottenEndsWithoutEffect) {
  Asking asking(kOtherThread);
  std::optional<MaskChange> change(true);
  asking.forget_changes();
  EXPECT_TRUE(asking.is_calm());
  change.reset();
  EXPECT_TRUE(asking.is_calm());
}

// The wait is bounded, so single ones may end too early on a busy machine.
TEST_F(AskingTest, AThreadThatIsBeingAskedChangesItsMaskAfterwards) {
  constexpr int kRounds = 41;
  constexpr int kYields = 20;  // of the many that the thread waits at most
  int waited = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<std::int32_t> tid{0};
    std::atomic<bool> may_change{false};
    std::atomic<bool> has_changed{false};
    std::thread thread([&] {
      tid = static_cast<std::int32_t>(::syscall(SYS_gettid));
      while (!may_change) ::sched_yield();
      const MaskChange change(true);
      has_changed = true;
      while (may_change) ::sched_yield();
    });
    while (tid == 0) ::sched_yield();
    {
      const Asking asking(tid);
      may_change = true;
      while (asking.is_calm()) ::sched_yield();
      for (int yields = 0; yields < kYields; ++yields) ::sched_yield();
      waited += has_changed ? 0 : 1;
    }
    while (!has_changed) ::sched_yield();
    may_change = false;
    thread.join();
  }
  EXPECT_GT(waited, kRounds / 2);
}

}  // namespace
}  // namespace swipr::handler
