// What an agent has done so far, as text for Prometheus. Pure.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "cli/fleet/cpu_ledger.h"

namespace swipr::commands {

struct StoreCounters {
  std::uint64_t stored = 0, refused = 0, unknown = 0, too_old = 0, asked_again = 0;
  std::uint64_t removed = 0;  // because the spool was full
  std::uint64_t stored_bytes = 0;
  std::uint64_t spool_bytes = 0;  // that wait or are being sent now
};

struct AgentCounters {
  std::uint64_t targets = 0;   // now
  std::uint64_t recorded = 0;  // of these, with an open stream
  std::uint64_t slowed = 0;    // of these, recorded less often because of the limit of overhead
  std::uint64_t left_out = 0;  // of these, because there are too many
  std::uint64_t slices = 0;
  std::uint64_t slices_lost = 0;      // whose worker failed
  std::uint64_t slices_extended = 0;  // because the worker of the one before was busy
  std::uint64_t samples = 0;
  std::uint64_t errors = 0;  // of files and spools
  std::chrono::nanoseconds kernel_cpu{0}, recorded_cpu{0};
  std::array<std::chrono::nanoseconds, fleet::kUnrecordedCount> unrecorded_cpu{};
  std::chrono::nanoseconds export_cpu{0};
  std::uint64_t export_peak_bytes = 0;
  std::chrono::nanoseconds agent_cpu{0};        // of the agent itself
  std::uint64_t agent_bytes = 0;                // its resident memory
  std::map<std::string, StoreCounters> stores;  // by origin
};

std::string format_metrics(const AgentCounters& counters);

}  // namespace swipr::commands
