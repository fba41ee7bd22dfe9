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

// A thread waits in functions of the C library, another flushes meanwhile.
class LibraryLocksTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kProgram = 0;
  static constexpr std::uint32_t kLibrary = 1;
  // Of frames.
  static constexpr std::uint32_t kWait = 0, kMutexLock = 1, kHandle = 2, kNanosleep = 3, kFlush = 4,
                                 kMalloc = 5, kWrlock = 6, kSharedLock = 7, kNameless = 8;

  LibraryLocksTest() {
    recording_.processes.resize(1);
    recording_.threads = {{0, Tid{70}, "waiter"}, {0, Tid{71}, "holder"}};
    recording_.modules.resize(2);
    recording_.modules[kProgram].path = "/srv/app";
    recording_.modules[kLibrary].path = "/lib/x86_64-linux-gnu/libc.so.6";
    add_frame("__lll_lock_wait", kLibrary);
    add_frame("pthread_mutex_lock", kLibrary);
    add_frame("handle", kProgram);
    add_frame("nanosleep", kLibrary);
    add_frame("flush", kProgram);
    add_frame("malloc", kLibrary);
    add_frame("pthread_rwlock_wrlock", kLibrary);
    add_frame("std::__shared_mutex_pthread::lock()", kProgram);
    add_frame("[libc.so.6+0x96a60]", kLibrary);
  }

  // Each stack has 10 ms of its thread's time, one after the other.
  void add(std::uint32_t thread, std::vector<std::uint32_t> frames, RuntimeWait wait) {
    Stack stack;
    stack.frames = std::move(frames);
    stack.runtime_wait = wait;
    stack.holder = Tid{71};
    if (recording_.stacks.empty()) stack.lock = 0x4000;
    recording_.stacks.push_back(stack);
    Sample sample;
    sample.time = milliseconds(last_ms_[thread] += 10);
    sample.wall = milliseconds(10);
    sample.thread = thread;
    sample.stack = static_cast<std::uint32_t>(recording_.stacks.size() - 1);
    sample.state = State::kBlocked;
    recording_.samples.push_back(sample);
  }
  LockWaits waits(RuntimeWait kind) const { return lock_waits(recording_, names_, kind); }

  Recording recording_;
  Names names_;

 private:
  void add_frame(std::string_view function, std::uint32_t module) {
    Frame frame;
    frame.module = module;
    recording_.frames.push_back(frame);
    NamedFrame named;
    named.function = function;
    if (!function.starts_with('[')) named.system_name = function;
    names_.frames.push_back({named});
  }

  int last_ms_[2] = {};
};

TEST_F(LibraryLocksTest, AreThoseThatTheStackShows) {
  add(kWaiter, {kWait, kMutexLock, kHandle}, RuntimeWait::kMutex);
  add(kHolder, {kNanosleep, kFlush}, RuntimeWait::kNone);
  add(kWaiter, {kWait, kMalloc, kHandle}, RuntimeWait::kMutex);  // only looks like a mutex
  add(kWaiter, {kWait, kWrlock, kSharedLock, kHandle}, RuntimeWait::kRwlock);
  add(kWaiter, {kWait, kWrlock, kSharedLock, kHandle}, RuntimeWait::kMutex);
  const LockWaits found = waits(RuntimeWait::kMutex);
  EXPECT_EQ(found.waited, milliseconds(10));
  ASSERT_EQ(found.holders.size(), 1u);
  EXPECT_EQ(found.holders[0].lock, "handle");
  EXPECT_EQ(found.holders[0].function, "flush");
  EXPECT_EQ(found.holders[0].locks.count, 1u);
  EXPECT_EQ(found.holders[0].locks.address, "0x4000");
  const LockWaits written = waits(RuntimeWait::kRwlock);
  EXPECT_EQ(written.waited, milliseconds(10));
  ASSERT_EQ(written.holders.size(), 1u);
  EXPECT_EQ(written.holders[0].lock, "handle") << "not the function of the C++ library";
  EXPECT_EQ(written.holders[0].locks.count, 0u);
  const std::vector<LockOwner> owners = lock_owners(recording_, names_);
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[0].lock, "mutex 0x4000 in handle");
  EXPECT_EQ(owners[1].lock, "rwlock in handle");
  EXPECT_EQ(owners[1].owner, "holder 71");
}

TEST_F(LibraryLocksTest, AreMutexesBehindAJumpOfAnExportedFunction) {
  add(kWaiter, {kWait, kNameless, kHandle}, RuntimeWait::kMutex);
  add(kWaiter, {kWait, kNameless, kMalloc, kHandle}, RuntimeWait::kMutex);
  add(kWaiter, {kWait, kNameless, kHandle}, RuntimeWait::kRwlock);
  add(kWaiter, {kWait, kNameless}, RuntimeWait::kMutex);
  const LockWaits found = waits(RuntimeWait::kMutex);
  EXPECT_EQ(found.waited, milliseconds(10));
  ASSERT_EQ(found.holders.size(), 1u);
  EXPECT_EQ(found.holders[0].lock, "handle");
  EXPECT_EQ(waits(RuntimeWait::kRwlock).waited, milliseconds(0));
  const auto wait = find_lock_wait(recording_, names_, 0);
  ASSERT_TRUE(wait);
  EXPECT_TRUE(wait->ends_in_time) << "it may";
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
