// Collects statistics of a stream: its process, ticks, samples and losses.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>

#include "common/core/addresses.h"
#include "common/core/ids.h"
#include "common/host/result.h"
#include "common/wire/format.h"

namespace swipr::session {

// A file that is mapped in a recorded process.
struct SeenModule {
  std::string path;
  Pid pid;  // in the PID namespace of the process
  RuntimeAddr start;
  std::uint64_t size_bytes = 0;
};
using SeenModules = std::map<std::string, SeenModule>;  // by build-id in lower-case hex

struct StreamSummary {
  Pid pid;
  std::string command_name;  // empty: no source record was seen
  std::string executable;
  std::chrono::nanoseconds interval{0};
  std::uint64_t ticks_asked = 0;  // 0: no count was given
  std::uint64_t ticks = 0;
  std::uint64_t samples = 0;
  std::uint64_t threads = 0;
  std::chrono::nanoseconds sampled_cpu{0};  // CPU time that samples or stacks cover
  std::chrono::nanoseconds elapsed{0};      // to the last tick
  std::map<std::string, std::uint64_t, std::less<>> totals;  // the last totals record
  // "python 3.15: frames are not read (debug build)", of the first few.
  std::set<std::string> refused_runtimes;
  std::set<std::string> warnings;  // of the process about its recording, the first few
  SeenModules modules;             // those with a build-id; the first few thousand
  std::set<std::uint64_t> traced;  // functions that are traced now, by line of the request
  std::optional<wire::EndReason> end;
  std::string end_text;

  // Returns a counter of the last totals record, or the number received if that is larger,
  // because a killed process sends no last totals.
  std::uint64_t total(std::string_view name, std::uint64_t received) const;
};

class StreamMeter {
 public:
  // Errors: a record that does not decode.
  host::Result<void> observe(std::span<const std::byte> payload);
  const StreamSummary& summary() const { return summary_; }

 private:
  bool observe_record(std::uint8_t type, std::span<const std::byte> payload);
  bool observe_source(std::span<const std::byte> payload);
  bool observe_tick(std::span<const std::byte> payload);
  bool observe_runtime(std::span<const std::byte> payload);
  bool observe_message(std::span<const std::byte> payload);
  bool observe_probe(std::span<const std::byte> payload);
  void observe_module(std::span<const std::byte> payload);
  bool observe_totals(std::span<const std::byte> payload);

  StreamSummary summary_;
  std::unordered_set<std::uint64_t> threads_;
};

}  // namespace swipr::session
