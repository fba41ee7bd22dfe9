// Reads the records about traced functions of a stream. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/trace/durations.h"
#include "common/core/addresses.h"
#include "common/wire/slow_calls.h"
#include "common/wire/traced_calls.h"

namespace swipr::tracing {

struct Probe {
  enum class State : std::uint8_t { kUnanswered, kAttached, kRefused, kDetached };

  State state = State::kUnanswered;
  std::string reason;  // why it is refused or detached, as it follows "because"
  RuntimeAddr address;
  Durations all;
  Durations latest;  // since take_latest()
  std::chrono::nanoseconds traced{0};
  std::chrono::nanoseconds latest_traced{0};
  std::uint64_t open = 0;  // calls that have not returned

  struct Counts {
    std::chrono::nanoseconds threshold{0};  // 0: not known
    std::uint64_t slow = 0;                 // calls above it
    std::chrono::nanoseconds slow_time{0};
    std::uint64_t lost = 0;       // of them were not told
    std::uint64_t elsewhere = 0;  // calls from other places than those asked for
  };
  Counts counts;
  std::map<std::uint64_t, Durations> threads;         // by tid
  std::map<std::uint64_t, Durations> latest_threads;  // since take_latest()
};

struct SlowCall {
  wire::SlowCallRecord record;
  std::vector<std::uint64_t> callers;  // return addresses, the caller's first
};

class LatencyRecords {
 public:
  explicit LatencyRecords(std::size_t probe_count) : probes_(probe_count) {}

  // The records of one block. Damaged ones, and those of unknown probes, are counted and skipped.
  void apply(std::span<const std::byte> block);

  const std::vector<Probe>& probes() const { return probes_; }
  std::size_t count(Probe::State state) const;
  bool has_begun() const { return has_begun_; }  // a tick has been written
  // Each attached function has had a record since take_latest().
  bool is_interval_complete() const;
  // Begins a new interval.
  void take_latest();

  // Those that have come since, in order of their ends.
  std::vector<SlowCall> take_slow_calls();
  // Empty: unknown.
  std::string thread_name(std::uint64_t tid) const;

  // Since the epoch: times of the stream count from it.
  std::uint64_t start_realtime_ns() const { return start_realtime_ns_; }

  std::uint64_t damaged() const { return damaged_; }
  // Why the stream ended, if it was an error; empty: it was not.
  const std::string& failure() const { return failure_; }
  bool has_ended() const { return has_ended_; }

 private:
  bool on_probe(std::span<const std::byte> payload);
  bool on_latency(std::span<const std::byte> payload);
  bool on_end(std::span<const std::byte> payload);
  bool on_slow_call(std::span<const std::byte> payload);
  bool on_counts(std::span<const std::byte> payload);
  bool on_thread(std::span<const std::byte> payload);

  std::vector<Probe> probes_;
  bool has_begun_ = false;
  bool has_ended_ = false;
  std::uint64_t damaged_ = 0;
  std::string failure_;
  std::uint64_t start_realtime_ns_ = 0;
  std::vector<SlowCall> slow_calls_;
  std::map<std::uint64_t, std::string> thread_names_;
};

}  // namespace swipr::tracing
