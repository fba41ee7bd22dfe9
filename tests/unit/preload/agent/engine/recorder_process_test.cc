// How the recorder follows changes of its process, and what it leaves there.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>

#include "preload/agent/base/mapped_memory.h"
#include "preload/handler/signals/disposition.h"
#include "tests/unit/preload/agent/engine/control_loop.h"
#include "tests/unit/preload/agent/engine/program_threads.h"

namespace swipr::test {
namespace {

using std::chrono::milliseconds;

constexpr agent::RecordingRequest kUntilStopped{.interval = milliseconds(2)};

// Returns after this number of further ticks of any recording. The counter is read while the
// control thread increments it.
class Ticks {
 public:
  void note() { seen_ = agent::recorder().counters().ticks; }
  bool pass(std::uint64_t count) const {
    const std::uint64_t wanted = seen_ + count;
    return eventually([this, wanted] { return seen_ >= wanted; });
  }

 private:
  std::atomic<std::uint64_t> seen_{0};
};

// A recording in which a thread begins, names itself and waits.
DecodedRecording record_late_one(int& tid) {
  Ticks ticks;
  return record_one(kUntilStopped, {.after_start = {},
                                    .before_ticks = [&] { ticks.note(); },
                                    .meanwhile =
                                        [&] {
                                          ASSERT_TRUE(ticks.pass(5));
                                          const Pipe pipe;
                                          ProgramThread thread([&] {
                                            ::pthread_setname_np(::pthread_self(), "late one");
                                            call_through_chain([&] {
                                              char byte;
                                              EXPECT_EQ(::read(pipe.read_end(), &byte, 1), 1);
                                            });
                                          });
                                          tid = thread.tid();
                                          ASSERT_TRUE(thread.waits());
                                          ASSERT_TRUE(ticks.pass(10));
                                          pipe.release();
                                        }});
}

TEST(RecorderProcess, AThreadBornDuringTheRecordingIsRecorded) {
  if (!kPlainPrologues) GTEST_SKIP() << kWhyProloguesMatter;
  int tid = 0;
  DecodedRecording recording = record_late_one(tid);
  // Names are read at a thread's first three ticks. On a busy machine it may not have run until
  // then: if one recording in ten is such a one, seven in a row are one case in ten million.
  for (int again = 0; again < 6; ++again) {
    const DecodedThread* known = recording.thread_of(tid);
    if (known != nullptr && known->name == "late one") break;
    recording = record_late_one(tid);
  }
  ASSERT_FALSE(recording.damaged);
  const DecodedThread* seen = recording.thread_of(tid);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->name, "late one");
  EXPECT_GT(seen->start_ns, 0u);
  ASSERT_FALSE(seen->entries.empty());
  const DecodedEntry& last = seen->entries.back();
  EXPECT_LE(seen->start_ns + seen->sum_wall(), last.time_ns);
  EXPECT_TRUE(std::any_of(seen->entries.begin(), seen->entries.end(), [](const auto& entry) {
    const auto names = entry.stack.names();
    return std::search(names.begin(), names.end(), std::begin(kChain), std::end(kChain)) !=
           names.end();
  }));
}

// Uses as much CPU time as about a tick has.
void compute_for_a_tick() {
  const auto cpu = [] {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  };
  while (cpu() < kUntilStopped.interval) {
  }
}

// Of one in about sixty such threads, the first entry is written when it is known to be gone.
TEST(RecorderProcess, AThreadKeepsItsNumberWhenItHasEnded) {
  const DecodedRecording recording =
      record_one(kUntilStopped, {.after_start = {}, .before_ticks = {}, .meanwhile = [] {
                                   for (int round = 0; round < 200; ++round) {
                                     ProgramThread first(&compute_for_a_tick);
                                     ProgramThread second(&compute_for_a_tick);
                                     ProgramThread third(&compute_for_a_tick);
                                   }
                                 }});
  ASSERT_FALSE(recording.damaged);
  EXPECT_GT(recording.threads.size(), 10u);
  for (const auto& [index, thread] : recording.threads) {
    EXPECT_TRUE(thread.tid != 0 || thread.name == "[ended threads]") << index << thread.name;
  }
}

TEST(RecorderProcess, ALibraryLoadedDuringTheRecordingIsNamedAndItsUnloadIsNoticed) {
  if (!kPlainPrologues) GTEST_SKIP() << kWhyProloguesMatter;
  Ticks ticks;
  int tid = 0;
  std::uint64_t function = 0;
  const DecodedRecording recording = record_one(
      kUntilStopped, {.after_start = {},
                      .before_ticks = [&] { ticks.note(); },
                      .meanwhile =
                          [&] {
                            ASSERT_TRUE(ticks.pass(3));
                            void* library = ::dlopen(SWIPR_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
                            ASSERT_NE(library, nullptr) << ::dlerror();
                            auto* wait = reinterpret_cast<int (*)(int)>(
                                ::dlsym(library, "recorder_test_plugin_wait"));
                            function = reinterpret_cast<std::uint64_t>(wait);
                            const Pipe pipe;
                            ProgramThread thread([&] { EXPECT_EQ(wait(pipe.read_end()), 1); });
                            tid = thread.tid();
                            ASSERT_TRUE(thread.waits());
                            ASSERT_TRUE(ticks.pass(50));
                            pipe.release();
                            thread.join();
                            ::dlclose(library);
                            ASSERT_TRUE(ticks.pass(300));
                          }});
  ASSERT_FALSE(recording.damaged);
  const DecodedModule* module = recording.module_at(function);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(std::filesystem::path(module->path).filename(),
            std::filesystem::path(SWIPR_TEST_PLUGIN).filename());
  EXPECT_TRUE(module->gone);
  const DecodedThread* seen = recording.thread_of(tid);
  ASSERT_NE(seen, nullptr);
  const bool rooted_in_plugin =
      std::any_of(seen->entries.begin(), seen->entries.end(), [&](const DecodedEntry& entry) {
        return (entry.stack.flags & wire::kStackRootReached) != 0 &&
               std::any_of(entry.stack.frames.begin(), entry.stack.frames.end(),
                           [&](const wire::FrameEntry& frame) {
                             return frame.pc >= module->start && frame.pc < module->end;
                           });
      });
  EXPECT_TRUE(rooted_in_plugin);
}

TEST(RecorderProcess, NamesItsModulesWithBuildIds) {
  const DecodedRecording recording = record_one({.interval = milliseconds(5), .ticks = 2});
  const DecodedModule* libc = recording.module_at(reinterpret_cast<std::uint64_t>(&::getpid));
  ASSERT_NE(libc, nullptr);
  EXPECT_THAT(libc->path, testing::HasSubstr("libc.so"));
  EXPECT_EQ(libc->build_id_bytes, 20u);
  EXPECT_EQ(recording.executable, std::filesystem::read_symlink("/proc/self/exe"));
  EXPECT_TRUE(std::any_of(recording.modules.begin(), recording.modules.end(),
                          [](const DecodedModule& module) { return module.path == "[vdso]"; }));
  EXPECT_EQ(recording.messages, "");
}

std::atomic<int> foreign_signals{0};
void count_foreign_with_info(int, siginfo_t* info, void*) {
  if (info->si_value.sival_int == 77) ++foreign_signals;
}

// Sends one and waits for its arrival. ThreadSanitizer stores only one signal per thread that it
// delivers later: if swipr's is stored there, this one is lost and is sent again.
bool foreign_signal_arrives(int number) {
  const int wanted = foreign_signals + 1;
  const auto send = [number] {
    sigval value{};
    value.sival_int = 77;
    return ::sigqueue(::getpid(), number, value) == 0;
  };
#ifdef SWIPR_TSAN
  return eventually([&] {
    send();
    return foreign_signals >= wanted;
  });
#else
  return send() && eventually([wanted] { return foreign_signals >= wanted; });
#endif
}

struct sigaction action_of(int number) {
  struct sigaction action {};
  ::sigaction(number, nullptr, &action);
  return action;
}

// As the wrapped sigaction returns it. The kernel may have swipr's handler for some time longer, if
// a signal is pending in a thread that gets no CPU.
struct sigaction seen_by_program(int number) {
  agent::recorder().set_owner(::getpid());
  struct sigaction action {};
  handler::exchange_program_action(number, nullptr, &action, ::sigaction);
  EXPECT_EQ(handler::sampling_signal(), number);
  return action;
}

// If the program handles SIGURG it is not used, unless the user selects it.
class ChosenSignal {
 public:
  ChosenSignal() { agent::recorder().set_signal_number(SIGURG); }
  ~ChosenSignal() { agent::recorder().set_signal_number(0); }
};

TEST(RecorderProcess, TheProgramsHandlerGetsItsSignalsAndIsItsOwn) {
  const ChosenSignal chosen;
  struct sigaction own {};
  own.sa_sigaction = count_foreign_with_info;
  own.sa_flags = SA_SIGINFO | SA_RESTART;
  struct sigaction before {};
  ::sigaction(SIGURG, &own, &before);
  foreign_signals = 0;
  Ticks ticks;
  std::atomic<bool> stop{false};
  ProgramThread spinner([&] { recorder_test_spin(&stop); });
  record_one(kUntilStopped, {.after_start = {},
                             .before_ticks = [&] { ticks.note(); },
                             .meanwhile =
                                 [&] {
                                   EXPECT_NE(action_of(SIGURG).sa_sigaction, own.sa_sigaction);
                                   EXPECT_EQ(seen_by_program(SIGURG).sa_sigaction,
                                             own.sa_sigaction);
                                   ASSERT_TRUE(ticks.pass(3));
                                   for (int sent = 0; sent < 20; ++sent) {
                                     ASSERT_TRUE(foreign_signal_arrives(SIGURG));
                                   }
                                 }});
  stop = true;
#ifndef SWIPR_TSAN
  EXPECT_EQ(foreign_signals, 20);
#endif
  EXPECT_EQ(seen_by_program(SIGURG).sa_sigaction, own.sa_sigaction);
  ::sigaction(SIGURG, &before, nullptr);
}

TEST(RecorderProcess, AHandlerInstalledDuringTheRecordingIsChained) {
  const ChosenSignal chosen;
  const struct sigaction before = action_of(SIGURG);
  struct sigaction own {};
  own.sa_sigaction = count_foreign_with_info;
  own.sa_flags = SA_SIGINFO;
  foreign_signals = 0;
  Ticks ticks;
  record_one(kUntilStopped, {.after_start = {},
                             .before_ticks = [&] { ticks.note(); },
                             .meanwhile =
                                 [&] {
                                   ASSERT_TRUE(ticks.pass(3));
                                   ::sigaction(SIGURG, &own, nullptr);
                                   ASSERT_TRUE(eventually([&] {
                                     return action_of(SIGURG).sa_sigaction != own.sa_sigaction;
                                   }));
                                   EXPECT_TRUE(foreign_signal_arrives(SIGURG));
                                 }});
  EXPECT_EQ(seen_by_program(SIGURG).sa_sigaction, own.sa_sigaction);
  EXPECT_EQ(seen_by_program(SIGURG).sa_flags & SA_RESTART, 0);
  ::sigaction(SIGURG, &before, nullptr);
}

TEST(RecorderProcess, NothingOfItIsLeftAfterTheLastRecording) {
  const auto open_files = [] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
      ++count;
    }
    return count;
  };
  record_one({.interval = milliseconds(2), .ticks = 5});
  const std::size_t before = open_files();
  record_one({.interval = milliseconds(2), .ticks = 5});
  EXPECT_EQ(open_files(), before);
  // The handler stays while a signal is pending in a thread that gets no CPU.
  EXPECT_TRUE(eventually([] {
    if (action_of(SIGURG).sa_handler == SIG_DFL) return true;
    record_one({.interval = milliseconds(2), .ticks = 1});
    return false;
  }));
  EXPECT_EQ(agent::recorder().next_deadline(), agent::kNever);
}

TEST(RecorderProcess, AChildOfAForkHasTheProgramsDispositionAndCanRecordAnew) {
#ifdef SWIPR_TSAN
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  Ticks ticks;
  int status = -1;
  record_one(kUntilStopped,
             {.after_start = {},
              .before_ticks = [&] { ticks.note(); },
              .meanwhile =
                  [&] {
                    ASSERT_TRUE(ticks.pass(3));
                    const pid_t child = ::fork();
                    if (child == 0) {
                      agent::recorder().reset_after_fork();
                      const bool clean = action_of(SIGURG).sa_handler == SIG_DFL &&
                                         agent::recorder().next_deadline() == agent::kNever;
                      const auto own = record_one({.interval = milliseconds(1), .ticks = 5});
                      ::_exit(clean && !own.damaged && !own.threads.empty() ? 0 : 1);
                    }
                    ::waitpid(child, &status, 0);
                  }});
  EXPECT_EQ(status, 0);
}

TEST(RecorderProcess, SaysWhoseProcessItIs) {
  const DecodedRecording recording = record_one({.interval = milliseconds(2), .ticks = 3});
  EXPECT_FALSE(recording.damaged);
  EXPECT_THAT(recording.users, testing::ElementsAre(::geteuid()));
  EXPECT_EQ(recording.users_before_threads, 1u) << "even if it is killed";
}

TEST(RecorderProcess, SaysWhoseProcessItBecame) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  constexpr uid_t kNobody = 65534;
  const DecodedRecording recording =
      record_one(kUntilStopped, {.after_start = {}, .before_ticks = {}, .meanwhile = [] {
                                   ASSERT_EQ(::seteuid(kNobody), 0);
                                 }});
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_FALSE(recording.damaged);
  EXPECT_THAT(recording.users, testing::ElementsAre(0u, kNobody));
}

// The kernel finds mappings in all of it, or returns ENOMEM.
bool is_mapped(void* memory, std::size_t bytes) { return ::msync(memory, bytes, MS_ASYNC) == 0; }

TEST(RecorderProcess, AChildOfAForkHasNoneOfTheTablesMemory) {
  agent::MappedArray<char> table;
  ASSERT_TRUE(table.resize(agent::kPageBytes));
  ASSERT_TRUE(table.resize(64 * agent::kPageBytes));  // it grows and moves
  const pid_t child = ::fork();
  if (child == 0) ::_exit(is_mapped(table.data(), agent::kPageBytes) ? 1 : 0);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_mapped(table.data(), table.size()));
  table.release();
}

}  // namespace
}  // namespace swipr::test
