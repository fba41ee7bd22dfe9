#include "tests/unit/preload/agent/engine/accounts.h"

#include <gtest/gtest.h>

namespace swipr::test {

using std::chrono::nanoseconds;

nanoseconds read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

void burn(nanoseconds cpu) {
  const nanoseconds end = read_clock(CLOCK_THREAD_CPUTIME_ID) + cpu;
  while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

bool Naps::nap(nanoseconds time) {
  std::unique_lock lock(mutex_);
  return !condition_.wait_for(lock, time, [this] { return over_; });
}

void Naps::end() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  condition_.notify_all();
}

Measured record_beside(clockid_t clock, const std::vector<agent::RecordingRequest>& requests) {
  nanoseconds begin{0}, latest{0};
  std::uint64_t ticks = 0;
  Measured measured;
  const nanoseconds before = read_clock(clock);
  const auto start = [&] {
    ticks = agent::recorder().counters().ticks;
    begin = latest = read_clock(clock);
  };
  const auto note = [&] {
    if (agent::recorder().counters().ticks != ticks) measured.inner = latest - begin;
    ticks = agent::recorder().counters().ticks;
    latest = read_clock(clock);
  };
  std::vector<Wanted> wanted;
  for (const agent::RecordingRequest& request : requests) wanted.push_back({.request = request});
  measured.recordings =
      record(wanted, {.after_start = start, .before_ticks = note, .meanwhile = {}});
  measured.outer = read_clock(clock) - before;
  return measured;
}

std::uint64_t sum_cpu(const DecodedRecording& recording) {
  std::uint64_t sum = 0;
  for (const auto& [index, thread] : recording.threads) sum += thread.sum_cpu();
  return sum;
}

void expect_all_cpu_is_there(const DecodedRecording& recording, const Measured& measured) {
  ASSERT_FALSE(recording.damaged);
  const auto told = static_cast<double>(sum_cpu(recording) + recording.totals.at("agent_cpu_ns"));
  EXPECT_LE(told, 1.01 * static_cast<double>(measured.outer.count()));
  EXPECT_GE(told, 0.99 * static_cast<double>(measured.inner.count()));
}

}  // namespace swipr::test
