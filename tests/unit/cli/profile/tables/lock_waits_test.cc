#include "cli/profile/tables/lock_waits.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

namespace swipr::profile {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kWaiter = 0;
constexpr std::uint32_t kHolder = 1;

// A thread waits for two locks, 30 ms for each, which another thread holds meanwhile.
class LockWaitsTest : public testing::Test {
 protected:
  LockWaitsTest() {
    recording_.processes.resize(1);
    recording_.threads = {{0, Tid{70}, "waiter"}, {0, Tid{71}, "holder"}};
    add_stack("Main.fill (Main.java)");
    add_stack("Main.drain (Main.java)");
    add_waiting_stack(RuntimeWait::kMonitor, Tid{71}, "java.util.Vector");
    add_waiting_stack(RuntimeWait::kMonitor, Tid{71}, "Job");
    add_waiting_stack(RuntimeWait::kMonitor, Tid{}, "Job");
    add_sample(kHolder, 0, 30, State::kRunning);
    add_sample(kHolder, 1, 60, State::kRunning);
    add_sample(kWaiter, 2, 30, State::kBlocked);
    add_sample(kWaiter, 3, 60, State::kBlocked);
    add_sample(kWaiter, 4, 70, State::kBlocked);
    add_sample(kWaiter, 0, 80, State::kRunning);
  }
  LockWaits waits(RuntimeWait kind) const { return lock_waits(recording_, names_, kind); }

 private:
  std::uint32_t add_stack(std::string_view function) {
    recording_.stacks.push_back({{static_cast<std::uint32_t>(names_.frames.size())}});
    NamedFrame frame;
    frame.function = function;
    frame.language = Language::kJava;
    names_.frames.push_back({frame});
    return static_cast<std::uint32_t>(recording_.stacks.size() - 1);
  }
  void add_waiting_stack(RuntimeWait wait, Tid holder, const char* type) {
    Stack& stack = recording_.stacks[add_stack("Main.enter (Main.java)")];
    stack.runtime_wait = wait;
    stack.holder = holder;
    stack.wait_type = type;
  }
  // From the thread's previous sample to `end_ms`.
  void add_sample(std::uint32_t thread, std::uint32_t stack, int end_ms, State state) {
    Sample sample;
    const milliseconds time(end_ms - last_ms_[thread]);
    sample.time = milliseconds(end_ms);
    sample.thread = thread;
    sample.stack = stack;
    sample.state = state;
    sample.wall = time;
    if (state == State::kRunning) sample.cpu = time;
    last_ms_[thread] = end_ms;
    recording_.samples.push_back(sample);
  }

  Recording recording_;
  Names names_;
  int last_ms_[2] = {};
};

TEST_F(LockWaitsTest, AreByTypeOfLockAndByWhatTheHolderDid) {
  const LockWaits found = waits(RuntimeWait::kMonitor);
  EXPECT_EQ(found.waited, milliseconds(70));
  EXPECT_EQ(found.running, milliseconds(10));
  ASSERT_EQ(found.holders.size(), 3u);
  EXPECT_EQ(found.holders[0].lock, "Job");
  EXPECT_EQ(found.holders[0].function, "Main.drain (Main.java)");
  EXPECT_EQ(found.holders[0].waited, milliseconds(30));
  EXPECT_EQ(found.holders[1].lock, "java.util.Vector");
  EXPECT_EQ(found.holders[1].function, "Main.fill (Main.java)");
  EXPECT_EQ(found.holders[2].function, "");
  EXPECT_EQ(found.holders[2].waited, milliseconds(10));
}

TEST_F(LockWaitsTest, AreWaitsForAMutexIfTheStackShowsOne) {
  Recording recording;
  recording.processes.resize(1);
  recording.threads = {{0, Tid{70}, "waiter"}, {0, Tid{71}, "holder"}};
  recording.modules.resize(2);
  recording.modules[0].path = "/srv/app";
  recording.modules[1].path = "/lib/x86_64-linux-gnu/libc.so.6";
  Names names;
  const auto add_frame = [&](const char* function, std::uint32_t module) {
    Frame frame;
    frame.module = module;
    recording.frames.push_back(frame);
    NamedFrame named;
    named.function = function;
    names.frames.push_back({named});
  };
  add_frame("__lll_lock_wait", 1);
  add_frame("pthread_mutex_lock", 1);
  add_frame("handle", 0);
  add_frame("nanosleep", 1);
  add_frame("flush", 0);
  add_frame("malloc", 1);
  const auto add_stack = [&recording](std::vector<std::uint32_t> frames, RuntimeWait wait) {
    Stack stack;
    stack.frames = std::move(frames);
    stack.runtime_wait = wait;
    stack.holder = Tid{71};
    recording.stacks.push_back(stack);
  };
  add_frame("pthread_rwlock_wrlock", 1);
  add_frame("std::__shared_mutex_pthread::lock()", 0);
  add_stack({0, 1, 2}, RuntimeWait::kMutex);
  add_stack({0, 5, 2}, RuntimeWait::kMutex);  // the heap's lock only looks like a mutex
  add_stack({3, 4}, RuntimeWait::kNone);
  add_stack({0, 6, 7, 2}, RuntimeWait::kRwlock);
  add_stack({0, 6, 7, 2}, RuntimeWait::kMutex);  // what only looks like a mutex
  recording.stacks[0].lock = 0x4000;
  const auto add_sample = [&recording](std::uint32_t thread, std::uint32_t stack, int end_ms) {
    Sample sample;
    sample.time = milliseconds(end_ms);
    sample.wall = milliseconds(10);
    sample.thread = thread;
    sample.stack = stack;
    sample.state = State::kBlocked;
    recording.samples.push_back(sample);
  };
  add_sample(kHolder, 2, 10);
  add_sample(kWaiter, 0, 10);
  add_sample(kHolder, 2, 20);
  add_sample(kWaiter, 1, 20);
  add_sample(kHolder, 2, 40);
  add_sample(kWaiter, 3, 30);
  add_sample(kWaiter, 4, 40);
  const LockWaits found = lock_waits(recording, names, RuntimeWait::kMutex);
  EXPECT_EQ(found.waited, milliseconds(10));
  ASSERT_EQ(found.holders.size(), 1u);
  EXPECT_EQ(found.holders[0].lock, "handle");
  EXPECT_EQ(found.holders[0].function, "flush");
  EXPECT_EQ(found.holders[0].locks.count, 1u);
  EXPECT_EQ(found.holders[0].locks.address, "0x4000");
  const LockWaits written = lock_waits(recording, names, RuntimeWait::kRwlock);
  EXPECT_EQ(written.waited, milliseconds(10));
  ASSERT_EQ(written.holders.size(), 1u);
  EXPECT_EQ(written.holders[0].lock, "handle") << "not the function of the C++ library";
  EXPECT_EQ(written.holders[0].locks.count, 0u);
  const std::vector<LockOwner> owners = lock_owners(recording, names);
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[0].lock, "mutex 0x4000 in handle");
  EXPECT_EQ(owners[1].lock, "rwlock in handle");
  EXPECT_EQ(owners[1].owner, "holder 71");
}

TEST(LockPlaces, NameOneLockAndCountSeveral) {
  Names names;
  names.variables[{0, 0x4000}] = "journal_lock";
  Stack stack;
  LockPlaces places;
  places.add(0, stack);
  EXPECT_EQ(lock_text("mutex", places.locks(names), "f"), "mutex in f");
  stack.lock = 0x4000;
  places.add(0, stack);
  places.add(0, stack);
  EXPECT_EQ(lock_text("mutex", places.locks(names), "f"), "mutex journal_lock in f");
  EXPECT_EQ(places.locks(names).address, "0x4000");
  EXPECT_EQ(lock_text("rwlock", places.locks({}), ""), "rwlock 0x4000");
  places.add(1, stack);  // of another process
  EXPECT_EQ(lock_text("mutex", places.locks(names), "f"), "2 mutexes in f");
  EXPECT_EQ(lock_text("rwlock", places.locks(names), ""), "2 rwlocks");
  stack.lock = 0;
  places.add(0, stack);
  EXPECT_EQ(lock_text("mutex", places.locks(names), "f"), "2 mutexes or more in f");
  LockPlaces others;
  others.add(0, stack);
  EXPECT_EQ(lock_text("mutex", others.locks(names), "f"), "mutex in f");
}

TEST_F(LockWaitsTest, AreOfOneKind) {
  EXPECT_EQ(waits(RuntimeWait::kGil).waited, milliseconds(0));
  EXPECT_TRUE(waits(RuntimeWait::kGil).holders.empty());
}

}  // namespace
}  // namespace swipr::profile
