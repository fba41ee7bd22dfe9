#include "preload/handler/signals/timed_threads.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/handler/asking.h"
#include "preload/handler/signals/disposition.h"

namespace swipr::handler {
namespace {

// A timer of this thread that is armed and far from firing.
class OwnTimer {
 public:
  OwnTimer() {
    sigevent event{};
    event.sigev_notify = SIGEV_NONE;
    EXPECT_EQ(::syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &number_), 0);
    const itimerspec times{{1000, 0}, {1000, 0}};
    EXPECT_EQ(::syscall(SYS_timer_settime, number_, 0, &times, nullptr), 0);
  }
  ~OwnTimer() { ::syscall(SYS_timer_delete, number_); }
  OwnTimer(const OwnTimer&) = delete;
  OwnTimer& operator=(const OwnTimer&) = delete;

  int number() const { return number_; }
  bool runs() const {
    itimerspec left{};
    EXPECT_EQ(::syscall(SYS_timer_gettime, number_, &left), 0);
    return left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0;
  }

 private:
  int number_ = -1;
};

class TimedThreadsTest : public testing::Test {
 protected:
  TimedThreadsTest() {
    set_disposition_owner(::getpid(), SIGURG);
    set_asking(true);
  }
  ~TimedThreadsTest() override {
    forget_timed_threads();
    set_asking(false);
    set_disposition_owner(0, 0);
  }
  const std::int32_t self_ = ::gettid();
};

TEST_F(TimedThreadsTest, AThreadThatMayBlockTheSignalStopsItsTimerFirst) {
  const OwnTimer timer;
  ASSERT_TRUE(enter_timed_thread(self_, timer.number()));
  { const MaskChange unblocks(false); }
  EXPECT_TRUE(timer.runs());
  EXPECT_FALSE(has_stopped_timer(self_));
  const MaskChange blocks(true);
  EXPECT_FALSE(timer.runs());
  EXPECT_TRUE(has_stopped_timer(self_));
}

TEST_F(TimedThreadsTest, TimersOfOthersAreLeftAlone) {
  const OwnTimer timer;
  ASSERT_TRUE(enter_timed_thread(self_ + 1, timer.number()));
  stop_own_timer();
  EXPECT_TRUE(timer.runs());
  leave_timed_thread(self_ + 1);
  ASSERT_TRUE(enter_timed_thread(self_, timer.number()));
  leave_timed_thread(self_);
  stop_own_timer();
  EXPECT_TRUE(timer.runs());
}

TEST_F(TimedThreadsTest, ThreadsThatShareAPlaceDoNotTakeItFromEachOther) {
  constexpr auto kPlaces = static_cast<std::int32_t>(kTimedThreadCount);
  EXPECT_TRUE(enter_timed_thread(5, 1));
  EXPECT_FALSE(enter_timed_thread(5 + kPlaces, 2));
  leave_timed_thread(5 + kPlaces);
  EXPECT_FALSE(enter_timed_thread(5 + kPlaces, 2)) << "only its owner leaves it";
  leave_timed_thread(5);
  EXPECT_TRUE(enter_timed_thread(5 + kPlaces, 2));
}

TEST(TimerValue, KeepsPlaceAndGenerationAndIsNoAddress) {
  const std::uint64_t value = pack_timer_value(0xfedcba98, 0x7654);
  EXPECT_EQ(place_of_timer(value), 0xfedcba98u);
  EXPECT_EQ(generation_of_timer(value), 0x7654);
  EXPECT_TRUE(is_timer_value(value));
  EXPECT_FALSE(is_timer_value(reinterpret_cast<std::uint64_t>(&value)));
  EXPECT_FALSE(is_timer_value(0xffffffffu));
}

}  // namespace
}  // namespace swipr::handler
