// Reads PROBE and LATENCY of a stream. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/trace/durations.h"
#include "common/core/addresses.h"
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

  std::uint64_t damaged() const { return damaged_; }
  // Why the stream ended, if it was an error; empty: it was not.
  const std::string& failure() const { return failure_; }
  bool has_ended() const { return has_ended_; }

 private:
  bool on_probe(std::span<const std::byte> payload);
  bool on_latency(std::span<const std::byte> payload);
  bool on_end(std::span<const std::byte> payload);

  std::vector<Probe> probes_;
  bool has_begun_ = false;
  bool has_ended_ = false;
  std::uint64_t damaged_ = 0;
  std::string failure_;
};

}  // namespace swipr::tracing
