#include "preload/agent/proc/proc_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>

#include <string>
#include <vector>

#include "preload/machine/older_calls.h"

namespace swipr::agent {
namespace {

const std::string kFutex = std::to_string(SYS_futex) + " ";

TEST(WaitPlace, ReadsWhatTheKernelWrites) {
  const WaitPlace blocked = parse_wait_place("202 0x7f0 0x80 0x0 0x0 0x0 0x0 0x7ffd10 0x7f3a1\n");
  EXPECT_EQ(blocked.kind, WaitKind::kBlocked);
  EXPECT_EQ(blocked.system_call, 202);
  EXPECT_EQ(blocked.sp, 0x7ffd10u);
  EXPECT_EQ(blocked.pc, 0x7f3a1u);
  EXPECT_EQ(parse_wait_place("running\n").kind, WaitKind::kRunning);
  const WaitPlace outside = parse_wait_place("-1 0x7ffd10 0x7f3a1\n");
  EXPECT_EQ(outside.kind, WaitKind::kBlocked);
  EXPECT_EQ(outside.system_call, -1);
}

TEST(WaitPlace, TellsWhichCallsMayBeInterrupted) {
  const auto restarts = [](const std::string& call) {
    const std::string text = call + " 0x7ffd10 0x7f3a1\n";
    return parse_wait_place(text).restarts;
  };
  EXPECT_TRUE(restarts(kFutex + "0x7f0 0x80 0x0 0x0 0x0 0x0"));  // futex wait
  EXPECT_TRUE(
      restarts(kFutex + "0x7f0 0x189 0x0 0x0 0x0 0xffffffff"));  // … bitset, private, realtime
  EXPECT_FALSE(restarts(kFutex + "0x7f0 0x80 0x0 0x7fe0 0x0 0x0"));  // with a time-out
  EXPECT_FALSE(
      restarts(kFutex + "0x7f0 0x8b 0x0 0x0 0x0 0x0"));  // wait, then requeue to a PI futex
  EXPECT_TRUE(restarts(std::to_string(SYS_wait4) + " 0x1 0x0 0x0 0x0 0x0 0x0"));     // wait4
  EXPECT_FALSE(restarts(std::to_string(SYS_ppoll) + " 0x7f0 0x1 0x0 0x0 0x0 0x0"));  // ppoll
  EXPECT_FALSE(restarts(std::to_string(SYS_read) +
                        " 0x3 0x7f0 0x10 0x0 0x0 0x0"));  // read: a socket's time-out
  EXPECT_FALSE(parse_wait_place("-1 0x7ffd10 0x7f3a1\n").restarts);
}

TEST(WaitPlace, TellsWhichCallsWaitInTheFunctionOfFutexes) {
  const auto is_futex_wait = [](const std::string& call) {
    return parse_wait_place(call + " 0x7ffd10 0x7f3a1\n").is_futex_wait;
  };
  EXPECT_TRUE(is_futex_wait(kFutex + "0x7f0 0x80 0x0 0x7fe0 0x0 0x0"));
  EXPECT_TRUE(is_futex_wait(kFutex + "0x7f0 0x189 0x0 0x0 0x0 0xffffffff"));
  EXPECT_FALSE(is_futex_wait(kFutex + "0x7f0 0x86 0x0 0x0 0x0 0x0"));  // with priority inheritance
  EXPECT_FALSE(is_futex_wait(kFutex + "0x7f0 0x8b 0x0 0x0 0x0 0x0"));  // requeued to such a one
  EXPECT_FALSE(is_futex_wait(std::to_string(SYS_wait4) + " 0x1 0x0 0x0 0x0 0x0 0x0"));
}

TEST(WaitPlace, TellsWhichTimeoutsBeginAgain) {
  const auto begins_again = [](long call, const std::string& arguments) {
    return parse_wait_place(std::to_string(call) + arguments + " 0x7ffd10 0x7f3a1\n")
        .timeout_begins_again;
  };
  EXPECT_TRUE(begins_again(SYS_epoll_pwait, " 0x3 0x7f0 0x1 0x64 0x0 0x8"));
  EXPECT_FALSE(begins_again(SYS_epoll_pwait, " 0x3 0x7f0 0x1 0xffffffff 0x0 0x8"));
  EXPECT_FALSE(begins_again(SYS_epoll_pwait, " 0x3 0x7f0 0x1 0xffffffffffffffff 0x0 0x8"));
  EXPECT_FALSE(begins_again(SYS_ppoll, " 0x7f0 0x1 0x7f8 0x0 0x8 0x0"));
  if (machine::kPoll < 0) return;
  EXPECT_TRUE(begins_again(machine::kEpollWait, " 0x3 0x7f0 0x1 0x64 0x0 0x0"));
  EXPECT_TRUE(begins_again(machine::kPoll, " 0x7f0 0x1 0x64 0x0 0x0 0x0"));
  EXPECT_FALSE(begins_again(machine::kPoll, " 0x7f0 0x1 0xffffffff 0x0 0x0 0x0"));
}

TEST(WaitPlace, TellsWhereTheHolderOfAMutexIs) {
  const auto holder_address = [](const std::string& call) {
    return parse_wait_place(call + " 0x7ffd10 0x7f3a1\n").holder_address;
  };
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x80 0x2 0x0 0x0 0x0"), 0x7f8u);
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x189 0x2 0x7fe0 0x0 0xffffffff"),
            0x7f8u);                                                         // with a time-out
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x0 0x2 0x0 0x0 0x0"), 0x7f8u);   // between processes
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x86 0x0 0x0 0x0 0x0"), 0x7f0u);  // priority inheritance
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x8d 0x0 0x0 0x0 0x0"), 0x7f0u);
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x0 0x8000015b 0x0 0x0 0x0"), 0x7f0u);  // robust
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x109 0xc000015b 0x7fe0 0x0 0xffffffff"),
            0x7f0u);  // with a time-out, and its last owner has died
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x80 0x8000015b 0x0 0x0 0x0"), 0u);  // another lock
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x0 0x15b 0x0 0x0 0x0"), 0u);        // no waiters
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x0 0xc0000000 0x0 0x0 0x0"), 0u);   // no owner
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x0 0x80000010 0x0 0x0 0x0"), 0u);   // musl
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x80 0x0 0x0 0x0 0x0"), 0u);         // a semaphore
  EXPECT_EQ(holder_address(kFutex + "0x7f0 0x81 0x2 0x0 0x0 0x0"), 0u);         // wakes others
  EXPECT_EQ(holder_address(std::to_string(SYS_read) + " 0x7f0 0x80 0x2 0x0 0x0 0x0"),
            0u);  // no futex
}

TEST(WaitPlace, TellsWhereTheWriterOfAReadWriteLockIs) {
  const auto place = [](const std::string& call) {
    return parse_wait_place(call + " 0x7ffd10 0x7f3a1\n");
  };
  // The lock is at 0x7f0, and so 0x7f8 is __wrphase_futex, 0x7fc __writers_futex.
  for (const std::string& call : std::vector<std::string>{
           kFutex + "0x7f8 0x189 0x3 0x0 0x0 0xffffffff",     // for reading
           kFutex + "0x7fc 0x189 0x3 0x0 0x0 0xffffffff",     // for writing
           kFutex + "0x7fc 0x189 0x3 0x7fe0 0x0 0xffffffff",  // with a time-out
           kFutex + "0x7fc 0x89 0x3 0x7fe0 0x0 0xffffffff",   // … of another clock
           kFutex + "0x7f8 0x109 0x3 0x0 0x0 0xffffffff"}) {  // between processes
    EXPECT_EQ(place(call).holder_address, 0x808u) << call;
    EXPECT_TRUE(place(call).is_rwlock()) << call;
    EXPECT_EQ(place(call).lock_address(), 0x7f0u) << call;
  }
  // A reader that lets a waiting writer go first expects other words; glibc before 2.25 waits so.
  EXPECT_EQ(place(kFutex + "0x7f0 0x189 0xe 0x0 0x0 0xffffffff").holder_address, 0u);
  EXPECT_EQ(place(kFutex + "0x7f8 0x80 0x3 0x0 0x0 0x0").holder_address, 0u);
  EXPECT_EQ(place(kFutex + "0x7f8 0x189 0x0 0x0 0x0 0xffffffff").holder_address,
            0u);  // a condition
  const WaitPlace mutex = place(kFutex + "0x7f0 0x80 0x2 0x0 0x0 0x0");
  EXPECT_FALSE(mutex.is_rwlock());
  EXPECT_EQ(mutex.lock_address(), 0x7f0u);
  EXPECT_FALSE(place(kFutex + "0x7f0 0x86 0x0 0x0 0x0 0x0").is_rwlock());
  EXPECT_EQ(place(kFutex + "0x7f0 0x86 0x0 0x0 0x0 0x0").lock_address(), 0x7f0u);
}

TEST(WaitPlace, UnreadableOrCutTextIsUnknown) {
  for (const char* text : {"", "202", "202 0x1 0x2 0x3\n", "-2 0x1 0x2", "-1 0x0 0x0\n", "x"}) {
    EXPECT_EQ(parse_wait_place(text).kind, WaitKind::kUnknown) << text;
  }
}

TEST(UserMap, OnlyTheFirstNamespacesMapsEveryUserToItself) {
  EXPECT_TRUE(maps_every_user_to_itself("         0          0 4294967295\n"));
  EXPECT_FALSE(maps_every_user_to_itself("         0     100000      65536\n"));
  EXPECT_FALSE(maps_every_user_to_itself("         0          0      65536\n"));
  EXPECT_FALSE(maps_every_user_to_itself("      1000          0          1\n"));
  EXPECT_FALSE(maps_every_user_to_itself("         1          0 4294967295\n"));
  EXPECT_FALSE(maps_every_user_to_itself("")) << "of a new namespace, or without /proc";
}

TEST(MapsLine, ReadsMappingsWithAndWithoutAPath) {
  MapsLine line;
  ASSERT_TRUE(parse_maps_line(
      "7f00-8f00 r-xp 00001000 fe:01 1234                       /usr/lib/a b.so (deleted)", line));
  EXPECT_EQ(line.start, 0x7f00u);
  EXPECT_EQ(line.end, 0x8f00u);
  EXPECT_TRUE(line.executable);
  EXPECT_EQ(line.offset, 0x1000u);
  EXPECT_EQ(line.device, 0xfe00000001u);
  EXPECT_EQ(line.inode, 1234u);
  EXPECT_EQ(line.path, "/usr/lib/a b.so (deleted)");
  ASSERT_TRUE(parse_maps_line("1000-2000 rw-p 00000000 00:00 0 ", line));
  EXPECT_FALSE(line.executable);
  EXPECT_EQ(line.path, "");
}

TEST(MapsLine, RejectsWhatIsNone) {
  MapsLine line;
  for (const char* text : {"", "1000", "1000-0800 r-xp 0 0:0 0", "1000-2000 r-xp", "g-h r-xp"}) {
    EXPECT_FALSE(parse_maps_line(text, line)) << text;
  }
}

TEST(Stat, TellsSleepingThreadsFromThoseThatRun) {
  EXPECT_TRUE(is_asleep_by_stat("12 (worker) S 1 2 3"));
  EXPECT_TRUE(is_asleep_by_stat("12 (worker) D 1 2 3"));
  EXPECT_FALSE(is_asleep_by_stat("12 (worker) R 1 2 3"));
  EXPECT_FALSE(is_asleep_by_stat("12 (a) S (b)) R 1 2 3"));
  EXPECT_FALSE(is_asleep_by_stat("12 (worker)"));
  EXPECT_FALSE(is_asleep_by_stat(""));
}

TEST(Stat, TellsBlockedAndPendingSignals) {
  sigset_t urgent;
  sigset_t before;
  sigemptyset(&urgent);
  sigaddset(&urgent, SIGURG);
  ::pthread_sigmask(SIG_BLOCK, &urgent, &before);
  char text[512];
  ::raise(SIGURG);
  const std::string_view stat = read_file_at(-1, "/proc/thread-self/stat", text);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_NE(parse_blocked_signals(stat) & 1u << (SIGURG - 1), 0u);
  EXPECT_EQ(parse_blocked_signals(stat) & 1u << (SIGUSR1 - 1), 0u);
  EXPECT_EQ(parse_pending_signals(stat), 1u << (SIGURG - 1));
  EXPECT_EQ(parse_blocked_signals("12 (worker) S 1 2 3"), 0u);
  EXPECT_EQ(parse_blocked_signals(""), 0u);
}

TEST(SignalQueue, IsAFieldOfStatus) {
  const SignalQueue queue =
      parse_signal_queue("Name:\tx\nThreads:\t1\nSigQ:\t3/31335\nSigPnd:\t0\n");
  EXPECT_EQ(queue.used, 3u);
  EXPECT_EQ(queue.limit, 31335u);
  char text[4096];
  EXPECT_GT(parse_signal_queue(read_file_at(-1, "/proc/self/status", text)).limit, 0u);
  for (const char* bad : {"", "SigQ:\t3/5\n", "\nSigQ:\t", "\nSigQ:\t3", "\nSigQ:\t3-5\n"}) {
    EXPECT_EQ(parse_signal_queue(bad).limit, 0u) << bad;
  }
}

TEST(SchedulerTimes, SecondFieldIsTheRunQueue) {
  EXPECT_EQ(parse_scheduler_times("123 456 7\n").runqueue_ns, 456u);
  EXPECT_EQ(parse_scheduler_times("123 456 7\n").slices, 7u);
  EXPECT_FALSE(parse_scheduler_times("").known);
}

TEST(VoluntarySwitches, AreFoundInStatus) {
  const auto count = parse_voluntary_switches(
      "Name:\tx\nCpus_allowed_list:\t0-1\nvoluntary_ctxt_switches:\t150\n"
      "nonvoluntary_ctxt_switches:\t545\n");
  EXPECT_EQ(count, 150u);
  char text[4096];
  EXPECT_TRUE(parse_voluntary_switches(read_file_at(-1, "/proc/self/status", text)).has_value());
  for (const char* const bad :
       {"", "voluntary_ctxt_switches:\t1\n", "\nnonvoluntary_ctxt_switches:\t1\n",
        "\nvoluntary_ctxt_switches:\tx\n"}) {
    EXPECT_EQ(parse_voluntary_switches(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace swipr::agent
