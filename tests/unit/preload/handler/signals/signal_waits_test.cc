#include "preload/handler/signals/signal_waits.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace swipr::handler {
namespace {

const auto kSelf = static_cast<std::int32_t>(::syscall(SYS_gettid));

TEST(SignalWaits, AThreadIsKnownToWaitForAsLongAsItDoes) {
  EXPECT_FALSE(is_in_signal_wait(kSelf));
  {
    const SignalWait wait;
    EXPECT_TRUE(is_in_signal_wait(kSelf));
    EXPECT_FALSE(is_in_signal_wait(kSelf + 1));
  }
  EXPECT_FALSE(is_in_signal_wait(kSelf));
}

TEST(SignalWaits, AReadingIsValidWhereNoWaitWasOrCameBetween) {
  const MaskReading calm(kSelf);
  EXPECT_TRUE(calm.is_valid());
  { const SignalWait wait; }
  EXPECT_FALSE(calm.is_valid());
  const SignalWait wait;
  const MaskReading within(kSelf);
  EXPECT_FALSE(within.is_valid());
}

TEST(SignalWaits, AWaitThatWasLeftWithoutItsEndEndsWithItsThread) {
  alignas(SignalWait) std::byte memory[sizeof(SignalWait)];
  new (memory) SignalWait;
  EXPECT_TRUE(is_in_signal_wait(kSelf));
  forget_signal_wait(kSelf);
  EXPECT_FALSE(is_in_signal_wait(kSelf));
}

}  // namespace
}  // namespace swipr::handler
