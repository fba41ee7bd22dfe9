// A recording and the process's own clocks during it.
#pragma once

#include <time.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "tests/unit/preload/agent/engine/control_loop.h"
#include "tests/unit/preload/agent/engine/program_threads.h"

namespace swipr::test {

std::chrono::nanoseconds read_clock(clockid_t clock);

// Uses this much CPU time of the calling thread.
void burn(std::chrono::nanoseconds cpu);

// Threads that sleep until their time is over or the test ends.
class Naps {
 public:
  // False: the test is over.
  bool nap(std::chrono::nanoseconds time);
  void end();

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool over_ = false;
};

// Time of a clock from after the start to the last reading that a tick is known to have followed
// (inner), and around the whole recording (outer).
struct Measured {
  std::vector<DecodedRecording> recordings;
  std::chrono::nanoseconds inner{0}, outer{0};
};
Measured record_beside(clockid_t clock, const std::vector<agent::RecordingRequest>& requests);

std::uint64_t sum_cpu(const DecodedRecording& recording);
// Sum of all entries and swipr's own time, compared with the clock of the process. 1 %.
void expect_all_cpu_is_there(const DecodedRecording& recording, const Measured& measured);

}  // namespace swipr::test
