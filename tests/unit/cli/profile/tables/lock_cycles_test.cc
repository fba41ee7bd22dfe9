#include "cli/profile/tables/lock_cycles.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/cli/profile/lock_stacks.h"

namespace swipr::profile {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Threads a, b, c with the tids 70, 71, 72, ticks each 10 ms.
class LockCyclesTest : public testing::Test {
 protected:
  LockCyclesTest() {
    recording_.processes.resize(1);
    recording_.processes[0].interval = milliseconds(10);
    recording_.threads = {{0, Tid{70}, "a"}, {0, Tid{71}, "b"}, {0, Tid{72}, "c"}};
    last_.resize(3);
    running_ = stack({"work"}, RuntimeWait::kNone, Tid{});
  }

  std::uint32_t stack(const std::vector<std::string_view>& functions, RuntimeWait kind,
                      Tid holder) {
    return add_lock_stack(recording_, names_, functions, kind, holder);
  }
  std::uint32_t waiting(std::string_view function, int holder,
                        std::string_view lock = "pthread_mutex_lock") {
    return stack({lock, function}, RuntimeWait::kMutex, Tid{holder});
  }

  // From the thread's last sample on. `cpu` > 0: it has run since.
  Sample& sample(std::uint32_t thread, std::uint32_t stack, milliseconds end,
                 milliseconds cpu = milliseconds(0)) {
    Sample& added = recording_.samples.emplace_back();
    added.time = end;
    added.wall = end - last_[thread];
    added.thread = thread;
    added.stack = stack;
    added.state = stack == running_ ? State::kRunning : State::kBlocked;
    added.cpu = cpu;
    last_[thread] = end;
    return added;
  }

  std::vector<LockCycle> found() const { return lock_cycles(recording_, names_); }

  Recording recording_;
  Names names_;
  std::vector<nanoseconds> last_;
  std::uint32_t running_ = 0;
};

TEST_F(LockCyclesTest, NameEachThreadWithItsLockAndTheTimeSinceAllWait) {
  sample(0, running_, milliseconds(100), milliseconds(100));
  sample(1, running_, milliseconds(300), milliseconds(300));
  sample(0, waiting("transfer", 71), milliseconds(1100), milliseconds(5));
  sample(1, waiting("audit", 70), milliseconds(1300), milliseconds(5));
  sample(0, waiting("transfer", 71), milliseconds(2100));
  sample(1, waiting("audit", 70), milliseconds(2300));
  const std::vector<LockCycle> cycles = found();
  ASSERT_EQ(cycles.size(), 1u);
  EXPECT_EQ(describe(cycles[0]),
            "a 70 waits for the mutex in transfer, held by b 71, which waits for the mutex in "
            "audit, held by a 70");
  EXPECT_EQ(cycles[0].waited, milliseconds(1800));
}

TEST_F(LockCyclesTest, MayHaveWritersOfReadWriteLocks) {
  const auto reading = [this](const char* lock, int holder) {
    return stack({lock, "look_up"}, RuntimeWait::kRwlock, Tid{holder});
  };
  const std::uint32_t reads = reading("pthread_rwlock_rdlock", 71);
  recording_.stacks[reads].lock = 0x4000;
  sample(0, reads, milliseconds(1000));
  sample(1, waiting("update", 70), milliseconds(1000));
  const std::vector<LockCycle> cycles = found();
  ASSERT_EQ(cycles.size(), 1u);
  EXPECT_EQ(describe(cycles[0]),
            "a 70 waits for the rwlock 0x4000 in look_up, held by b 71, which waits for the mutex "
            "in update, held by a 70");
  for (const char* gives_up : {"pthread_rwlock_timedrdlock", "pthread_rwlock_clockwrlock"}) {
    recording_.samples.clear();
    last_.assign(3, nanoseconds(0));
    sample(0, reading(gives_up, 71), milliseconds(1000));
    sample(1, waiting("update", 70), milliseconds(1000));
    EXPECT_TRUE(found().empty()) << gives_up;
  }
}

TEST_F(LockCyclesTest, MayHaveThreeThreadsAndOthersThatWaitForThem) {
  recording_.threads.push_back({0, Tid{73}, "d"});
  last_.resize(4);
  sample(3, waiting("outside", 71), milliseconds(1000));
  sample(2, waiting("third", 70), milliseconds(1000));
  sample(1, waiting("second", 72), milliseconds(1000));
  sample(0, waiting("first", 71), milliseconds(1000));
  const std::vector<LockCycle> cycles = found();
  ASSERT_EQ(cycles.size(), 1u);
  EXPECT_EQ(describe(cycles[0]),
            "a 70 waits for the mutex in first, held by b 71, which waits for the mutex in second, "
            "held by c 72, which waits for the mutex in third, held by a 70");
}

TEST_F(LockCyclesTest, AreTwoIfTwoPairsWait) {
  recording_.threads.push_back({0, Tid{73}, "d"});
  last_.resize(4);
  sample(0, waiting("one", 73), milliseconds(1000));
  sample(3, waiting("two", 70), milliseconds(1000));
  sample(1, running_, milliseconds(200), milliseconds(200));
  sample(1, waiting("three", 72), milliseconds(400), milliseconds(1));
  sample(1, waiting("three", 72), milliseconds(1000));
  sample(2, waiting("four", 71), milliseconds(1000));
  const std::vector<LockCycle> cycles = found();
  ASSERT_EQ(cycles.size(), 2u);
  EXPECT_EQ(cycles[0].waits.back().name, "d 73");
  EXPECT_EQ(cycles[1].waits.front().name, "b 71");
  EXPECT_EQ(cycles[1].waited, milliseconds(800));
}

// a was asleep while b still ran, and had got its lock when b fell asleep: the checks of one tick
// are not one moment.
TEST_F(LockCyclesTest, AreNoneIfTheThreadsHaveNotSleptTogether) {
  sample(0, waiting("first", 71), milliseconds(1000));
  sample(1, running_, milliseconds(990), milliseconds(990));
  sample(1, waiting("second", 70), milliseconds(1000), milliseconds(1));
  EXPECT_TRUE(found().empty());
  sample(0, waiting("first", 71), milliseconds(1010));
  sample(1, waiting("second", 70), milliseconds(1010));
  EXPECT_TRUE(found().empty()) << "one tick only";
  sample(0, waiting("first", 71), milliseconds(1030));
  sample(1, waiting("second", 70), milliseconds(1030));
  EXPECT_EQ(found().size(), 1u);
}

// The same waits again and again, between which the threads have run, prove nothing.
TEST_F(LockCyclesTest, AreNoneIfTheThreadsRunMeanwhile) {
  const std::uint32_t first = waiting("first", 71);
  const std::uint32_t second = waiting("second", 70);
  for (int tick = 1; tick <= 100; ++tick) {
    sample(0, first, milliseconds(10 * tick), milliseconds(1));
    sample(1, second, milliseconds(10 * tick), milliseconds(1));
  }
  EXPECT_TRUE(found().empty());
  // Credited CPU time has been used nevertheless.
  for (Sample& sample : recording_.samples) {
    sample.credited = -sample.cpu;
    sample.wall -= sample.cpu;
    sample.cpu = nanoseconds(0);
  }
  EXPECT_TRUE(found().empty());
}

TEST_F(LockCyclesTest, AreNoneIfAThreadGoesOn) {
  sample(0, waiting("first", 71), milliseconds(1000));
  sample(1, waiting("second", 70), milliseconds(1000));
  EXPECT_EQ(found().size(), 1u);
  sample(1, running_, milliseconds(1010), milliseconds(1));
  EXPECT_TRUE(found().empty());
}

TEST_F(LockCyclesTest, BeginAgainWithAnotherHolder) {
  sample(0, waiting("first", 72), milliseconds(1000));
  sample(1, waiting("second", 70), milliseconds(1000));
  sample(0, waiting("first", 71), milliseconds(1500));
  sample(1, waiting("second", 70), milliseconds(1500));
  const std::vector<LockCycle> cycles = found();
  ASSERT_EQ(cycles.size(), 1u);
  EXPECT_EQ(cycles[0].waited, milliseconds(500));
}

TEST_F(LockCyclesTest, AreNoneIfAWaitEndsByItself) {
  sample(0, waiting("first", 71), milliseconds(1000));
  sample(1, waiting("second", 70, "pthread_mutex_timedlock"), milliseconds(1000));
  EXPECT_TRUE(found().empty());
  sample(1, waiting("second", 70, "__pthread_mutex_clocklock_common"), milliseconds(2000));
  EXPECT_TRUE(found().empty());
}

TEST_F(LockCyclesTest, AreNoneIfTheStackShowsNoMutex) {
  sample(0, waiting("first", 71), milliseconds(1000));
  sample(1, waiting("second", 70, "malloc"), milliseconds(1000));
  EXPECT_TRUE(found().empty());
}

TEST_F(LockCyclesTest, AreOfMutexesOnly) {
  sample(0, waiting("first", 71), milliseconds(1000));
  for (const RuntimeWait kind : {RuntimeWait::kGil, RuntimeWait::kMonitor}) {
    last_[1] = nanoseconds(0);
    sample(1, stack({"poll", "run"}, kind, Tid{70}), milliseconds(1000));
    EXPECT_TRUE(found().empty());
    recording_.samples.pop_back();
  }
}

TEST_F(LockCyclesTest, NeedMoreTimeIfTicksSkipThreads) {
  recording_.processes[0].totals["ticks_stretched"] = 1;
  sample(0, waiting("first", 71), milliseconds(1900));
  sample(1, waiting("second", 70), milliseconds(1900));
  EXPECT_TRUE(found().empty());
  sample(0, waiting("first", 71), milliseconds(2000));
  sample(1, waiting("second", 70), milliseconds(2000));
  EXPECT_EQ(found().size(), 1u);
}

TEST_F(LockCyclesTest, AreWithinAProcess) {
  recording_.processes.push_back(recording_.processes[0]);
  recording_.threads[1].process = 1;
  sample(0, waiting("first", 71), milliseconds(1000));
  sample(1, waiting("second", 70), milliseconds(1000));
  EXPECT_TRUE(found().empty());
}

// Samples of --mode offcpu have no CPU time, whether their threads have run or not.
TEST_F(LockCyclesTest, NeedSamplesWithoutGapsIfCpuTimeWasNotRecorded) {
  recording_.processes[0].mode = Mode::kOffCpu;
  const std::uint32_t first = waiting("first", 71);
  const std::uint32_t second = waiting("second", 70);
  for (int tick = 1; tick <= 100; ++tick) {
    sample(0, first, milliseconds(10 * tick)).wall -= milliseconds(1);
    sample(1, second, milliseconds(10 * tick)).wall -= milliseconds(1);
  }
  EXPECT_TRUE(found().empty());
  sample(0, first, milliseconds(2000)).wall -= milliseconds(1);
  sample(1, second, milliseconds(2000)).wall -= milliseconds(1);
  EXPECT_TRUE(found().empty());
  sample(0, first, milliseconds(3000));
  sample(1, second, milliseconds(3000));
  EXPECT_EQ(found().size(), 1u);
}

TEST_F(LockCyclesTest, AreFoundInSamplesAsTheyCome) {
  LastWaits waits;
  for (int second = 1; second <= 3; ++second) {
    recording_.samples.clear();
    sample(0, waiting("first", 71), milliseconds(1000 * second));
    sample(1, waiting("second", 70), milliseconds(1000 * second));
    waits.add(recording_, recording_.samples);
  }
  const std::vector<LockCycle> cycles = waits.find_cycles(recording_, names_);
  ASSERT_EQ(cycles.size(), 1u);
  EXPECT_EQ(cycles[0].waited, milliseconds(3000));
}

}  // namespace
}  // namespace swipr::profile
