// Parameters of a recording that a client may set, and their limits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/wire/format.h"

namespace swipr::agent {

inline constexpr std::uint32_t kDefaultMaxOverheadPermille = 20;
inline constexpr std::uint32_t kDefaultMaxStacks = 65535;

struct RecordingRequest {
  std::chrono::nanoseconds interval{10'000'000};
  std::uint64_t ticks = 0;               // 0: no limit
  std::chrono::nanoseconds duration{0};  // 0: no limit
  wire::RecordMode mode = wire::RecordMode::kWall;
  bool jitter = true;            // ticks at random intervals; false: on a fixed grid
  bool omits_arguments = false;  // of the command line, which can hold passwords
  bool tasks = false;            // of asyncio, as artificial threads
  // Of one CPU. Above it threads that hardly run are checked less often; their times stay exact.
  std::uint32_t max_overhead_permille = kDefaultMaxOverheadPermille;
  std::uint32_t max_stacks = kDefaultMaxStacks;  // kept at a time, with 12 MiB as the other bound
  bool sampling = true;                          // false: only functions are traced
  std::string_view probes{};  // functions to trace (traced_calls.h); valid while it is started
  std::chrono::nanoseconds latency_interval{1'000'000'000};
  // Slow calls, call sites and threads of these functions (common/wire/slow_calls.h).
  std::chrono::nanoseconds slower{0};  // 0: no threshold
  std::uint64_t slower_quantile = 0;   // of wire::kQuantileUnits; 0: none
  std::uint32_t slow_frames = 8;
  std::string_view sites{};    // as `probes`
  std::string_view strings{};  // a line for each of `probes`
  bool by_thread = false;
  bool follows_slow_calls() const noexcept { return slower.count() != 0 || slower_quantile != 0; }
  // Who asked for functions, for the log.
  std::int32_t client_pid = 0;
  std::uint32_t client_uid = 0;
};
inline constexpr std::chrono::nanoseconds kMinInterval{100'000};  // 10 kHz
inline constexpr std::chrono::nanoseconds kMaxInterval{3'600'000'000'000};
inline constexpr std::size_t kMaxRecordings = 16;

}  // namespace swipr::agent
