#include "preload/handler/asking.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "preload/handler/disposition.h"

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

}  // namespace
}  // namespace swipr::handler
