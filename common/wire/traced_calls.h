// Tracing of functions: what a client asks for, and the records PROBE and LATENCY that answer it.
//
// The request: fields of the JSON object that POST /v1/record takes, over the UNIX socket only (403
// elsewhere, and with SWIPR_TRACE=0; the answer's text states the reason).
//
//   "probes"           string: a line for each function (take_probe); at most kMostProbes
//   "latencyInterval"  duration, default "1 s": LATENCY is written at the first tick after it
//   "sampling"         bool, default true; false: ticks take no samples
//
// A library that ignores these fields, because it is older, sends no PROBE.
//
// The answer: one PROBE for each function before the first TICK, attached or refused; attaching
// takes 1 s at most for each. A probe that is detached before the end has another PROBE. LATENCY
// follows while it is attached, and a last one when it is detached or the recording ends. The
// functions are detached when the recording ends for whatever reason, a vanished client included.
//
// Times are in nanoseconds since the start of the source (CLOCK_MONOTONIC), durations of calls in
// nanoseconds of the same clock. Context: anywhere.  Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/core/duration_buckets.h"
#include "common/wire/decoder.h"
#include "common/wire/encoder.h"

namespace swipr::wire {

inline constexpr std::size_t kMostProbes = 32;  // of one request
inline constexpr std::size_t kMostBuildIdBytes = 64;

// A function by its module, and its address in the module's image (st_value of its symbol), which
// is the start of an FDE. A line of the request:
//
//   IMAGE-ADDRESS build-id HEX     0x1139 build-id 0d9f…
//   IMAGE-ADDRESS path PATH        0x401136 path /srv/app
//
// The path, for modules without a build-id, is that of the MODULE record and extends to the end of
// the line.
struct ProbeRequest {
  std::uint64_t image_address = 0;
  std::string_view build_id{};  // hexadecimal digits, as written; empty: by path
  std::string_view path{};
};
// Takes the next line of `text`; empty lines are skipped. False: the end (`text` is empty), or a
// line that is damaged (`text` begins with it).
bool take_probe(std::string_view& text, ProbeRequest& out) noexcept;
// Compares with digits of either case.
bool is_build_id(std::string_view digits, std::span<const std::byte> build_id) noexcept;

enum class ProbeState : std::uint8_t { kAttached = 0, kRefused = 1, kDetached = 2 };

// Why it is refused or detached. Readers show `text`, and treat unknown reasons as kProcess.
enum class ProbeReason : std::uint8_t {
  kNone = 0,        // attached
  kNotFound = 1,    // the process has no such module, or no function begins there
  kFunction = 2,    // its code cannot be changed safely
  kProcess = 3,     // nothing can be traced in this process, or in this module
  kBusy = 4,        // a thread stayed in the bytes to be changed for 1 s; may succeed later
  kLimit = 5,       // too many functions or calls are traced
  kBudget = 6,      // detached: its calls cost more than --max-overhead
  kModuleGone = 7,  // detached: dlclose, or another mapping in its place
};
inline constexpr std::uint8_t kProbeReasonCount = 8;

struct ProbeRecord {
  std::uint64_t probe = 0;  // line of the request, from 0
  ProbeState state = ProbeState::kRefused;
  ProbeReason reason = ProbeReason::kNone;
  std::uint64_t time_ns = 0;
  std::uint64_t address = 0;     // run-time address of the function; 0: not found
  std::uint64_t size_bytes = 0;  // of its FDE
  std::string_view text{};       // follows "because": "it is too short". Empty: attached
};

// Calls that ended in a stretch of time. If a record could not be written because the client was
// too slow, the next one covers its stretch, too: sums are exact.
struct LatencyRecord {
  std::uint64_t probe = 0;
  std::uint64_t tid = 0;        // 0: all threads, which is all that this version writes
  std::uint64_t call_site = 0;  // return address; 0: all call sites, as above
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;    // ≥ begin_ns
  std::uint64_t sum_ns = 0;    // durations of all calls in the buckets
  std::uint64_t max_ns = 0;    // the longest call since the probe was attached
  std::uint64_t unwound = 0;   // of the calls in the buckets: ended by an exception
  std::uint64_t untraced = 0;  // calls that were not measured, as too many were open
  std::uint64_t open = 0;      // calls that had not returned at end_ns, without recursive ones
};

struct BucketCount {
  std::uint64_t bucket = 0;  // common/core/duration_buckets.h; of a duration in nanoseconds
  std::uint64_t count = 0;   // calls; not 0
};

void encode(Encoder& out, const ProbeRecord& record) noexcept;
// Lifetime: strings point into the payload. nullopt: damaged.
std::optional<ProbeRecord> decode_probe(std::span<const std::byte> payload) noexcept;

// LATENCY: begin, buckets in ascending order, end.
class LatencyEncoder {
 public:
  LatencyEncoder(Encoder& out, const LatencyRecord& record) noexcept;
  void put(const BucketCount& bucket) noexcept;
  void end() noexcept { out_.end_record(mark_); }

 private:
  Encoder& out_;
  std::size_t mark_;
  std::uint64_t next_ = 0;
};

// `while (latency.take(bucket))`, then ok(). Buckets ascend and are below kBucketCount; the sum of
// all counts fits in 64 bits.
class LatencyDecoder {
 public:
  explicit LatencyDecoder(std::span<const std::byte> payload) noexcept;
  const LatencyRecord& record() const noexcept { return record_; }
  bool take(BucketCount& out) noexcept;
  bool ok() const noexcept { return ok_ && in_.ok(); }
  // Calls in the buckets taken so far.
  std::uint64_t calls() const noexcept { return calls_; }

 private:
  Decoder in_;
  LatencyRecord record_;
  std::uint64_t next_ = 0;
  std::uint64_t calls_ = 0;
  bool ok_ = true;
};

}  // namespace swipr::wire
