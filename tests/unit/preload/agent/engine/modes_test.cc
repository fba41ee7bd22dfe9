// Recordings of one part of each thread's time: on a CPU, and off it.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>

#include "tests/unit/preload/agent/engine/accounts.h"

namespace swipr::test {
namespace {

using std::chrono::milliseconds;
using wire::RecordMode;
using wire::ThreadState;

constexpr agent::RecordingRequest request_of(RecordMode mode) {
  return {.interval = milliseconds(5), .ticks = 200, .mode = mode};
}

// A thread that computes, one that computes periodically, one that waits.
class Program {
 public:
  ~Program() {
    stop_ = true;
    naps_.end();
    pipe_.release();
  }
  bool is_ready() const { return reader.waits(); }

 private:
  std::atomic<bool> stop_{false};
  Naps naps_;
  Pipe pipe_;

 public:
  ProgramThread spinner{[this] { recorder_test_spin(&stop_); }};
  ProgramThread napper{[this] {
    while (naps_.nap(milliseconds(2))) burn(milliseconds(1));
  }};
  ProgramThread reader{[this] {
    char byte;
    EXPECT_EQ(::read(pipe_.read_end(), &byte, 1), 1);
  }};
};

TEST(RecordModes, CpuHoldsAllCpuTimeAndNothingElse) {
  Program program;
  ASSERT_TRUE(program.is_ready());
  const long switches = program.reader.voluntary_switches();
  const Measured measured = record_beside(CLOCK_PROCESS_CPUTIME_ID, {request_of(RecordMode::kCpu)});
  EXPECT_EQ(program.reader.voluntary_switches(), switches);
  const DecodedRecording& recording = measured.recordings.at(0);
  expect_all_cpu_is_there(recording, measured);
  EXPECT_EQ(recording.mode, RecordMode::kCpu);
  EXPECT_TRUE(recording.thread_of(program.reader.tid())->entries.empty());
  for (const auto& [index, thread] : recording.threads) {
    for (const DecodedEntry& entry : thread.entries) {
      EXPECT_EQ(entry.sample.state, ThreadState::kRunning);
      EXPECT_EQ(entry.sample.wall_ns, entry.sample.cpu_ns);
      EXPECT_EQ(entry.sample.runqueue_ns, 0u);
    }
  }
  EXPECT_LE(recording.thread_of(program.spinner.tid())->sum_ticks(), recording.totals.at("ticks"));
  EXPECT_EQ(recording.totals.at("signals_to_blocked"), 0u);
}

TEST(RecordModes, OffCpuSendsNoSignalAndLeavesTheDispositionAlone) {
  Program program;
  ASSERT_TRUE(program.is_ready());
  // Perhaps not the program's: a signal of an earlier recording may still be pending.
  struct sigaction before {};
  ::sigaction(SIGURG, nullptr, &before);
  struct sigaction during {};
  const auto all = record({{.request = request_of(RecordMode::kOffCpu)}},
                          {.after_start = [&] { ::sigaction(SIGURG, nullptr, &during); },
                           .before_ticks = {},
                           .meanwhile = {}});
  EXPECT_EQ(during.sa_handler, before.sa_handler);
  const DecodedRecording& recording = all.at(0);
  ASSERT_FALSE(recording.damaged);
  EXPECT_EQ(recording.mode, RecordMode::kOffCpu);
  EXPECT_EQ(recording.totals.at("signals_sent"), 0u);
  EXPECT_EQ(sum_cpu(recording), 0u);
  const DecodedThread* reader = recording.thread_of(program.reader.tid());
  EXPECT_EQ(reader->sum_wall(), *recording.duration_ns);
  EXPECT_EQ(reader->sum_ticks(), recording.totals.at("ticks"));
  for (const DecodedEntry& entry : reader->entries) {
    EXPECT_EQ(entry.sample.state, ThreadState::kBlocked);
    EXPECT_NE(entry.sample.stack_id, 0u);
  }
}

// Recordings begin one after the other. The first samples build unwind tables, which takes tens of
// milliseconds in code instrumented by a sanitizer.
#if defined(SWIPR_ASAN) || defined(SWIPR_TSAN)
constexpr double kTolerance = 0.25;
#else
constexpr double kTolerance = 0.01;
#endif

TEST(RecordModes, CpuAndOffCpuArePartsOfOneWhole) {
  Program program;
  ASSERT_TRUE(program.is_ready());
  const Measured measured = record_beside(
      CLOCK_PROCESS_CPUTIME_ID, {request_of(RecordMode::kWall), request_of(RecordMode::kCpu),
                                 request_of(RecordMode::kOffCpu)});
  ASSERT_EQ(measured.recordings.size(), 3u);
  // What the process used while not all of them recorded: each begins and ends at its own time.
  const auto outside = static_cast<double>((measured.outer - measured.inner).count());
  for (const int tid : {program.spinner.tid(), program.napper.tid(), program.reader.tid()}) {
    const DecodedThread* wall = measured.recordings[0].thread_of(tid);
    const DecodedThread* cpu = measured.recordings[1].thread_of(tid);
    const DecodedThread* off_cpu = measured.recordings[2].thread_of(tid);
    const auto whole = static_cast<double>(*measured.recordings[0].duration_ns);
    EXPECT_EQ(wall->sum_wall(), *measured.recordings[0].duration_ns);
    // Each recording ends with a tick of its own, which may be late.
    const auto whole_off_cpu = static_cast<double>(*measured.recordings[2].duration_ns);
    const double late = std::abs(whole - static_cast<double>(*measured.recordings[1].duration_ns)) +
                        std::abs(whole_off_cpu - whole);
    EXPECT_NEAR(static_cast<double>(cpu->sum_wall() + off_cpu->sum_wall()), whole_off_cpu,
                kTolerance * whole + late);
    EXPECT_NEAR(static_cast<double>(cpu->sum_cpu()), static_cast<double>(wall->sum_cpu()),
                kTolerance * whole + outside);
  }
}

TEST(RecordModes, CpuOfThreadsThatAreNeverSeenRunningIsKept) {
  Naps naps;
  ProgramThread sleeper([&] {
    while (naps.nap(milliseconds(20))) burn(std::chrono::microseconds(50));
  });
  const Measured measured =
      record_beside(CLOCK_PROCESS_CPUTIME_ID,
                    {{.interval = milliseconds(50), .ticks = 20, .mode = RecordMode::kCpu}});
  naps.end();
  expect_all_cpu_is_there(measured.recordings.at(0), measured);
}

}  // namespace
}  // namespace swipr::test
