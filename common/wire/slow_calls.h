// Slow calls of traced functions (traced_calls.h): what a client asks for beside the functions, and
// the records SLOW_CALL, PROBE_COUNTS and CALL_THREAD.
//
// The request: more fields of the JSON object that POST /v1/record takes, with "probes".
//
//   "slower"     string: calls that take longer are told: a duration, or a quantile of all calls
//                (common/core/quantile_text.h), which is known after some calls and computed
//                again each second
//   "frames"     of their stacks, from the caller on, at most kMostSlowFrames; default 8
//   "sites"      string: a line for each return address (take_probe); only calls that return to one
//                of them are measured. At most kMostSites
//   "threads"    bool: LATENCY also for each thread
//   "strings"    string: a line for each of "probes", with a digit (StringAt) for each argument
//                register and one for the result: the strings that are read when a slow call ends.
//                At most kMostStrings of a line are not 0
//
// One recording at a time follows the slow calls of a process. Context: anywhere.  Allocates:
// never.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/wire/decoder.h"
#include "common/wire/encoder.h"

namespace swipr::wire {

inline constexpr std::size_t kMostSites = 32;
inline constexpr std::size_t kMostSlowFrames = 256;
inline constexpr std::size_t kMostArguments = 6;             // those of the ABI's registers
inline constexpr std::size_t kResultValue = kMostArguments;  // its number beside the arguments
inline constexpr std::size_t kMostStrings = 4;               // of a call
inline constexpr std::size_t kMostStringBytes = 64;          // of each

// Where a string is that a register belongs to.
enum class StringAt : std::uint8_t {
  kNone = 0,
  kAddress = 1,           // in the register: ends with a zero
  kAddressSize = 2,       // in this register and the next one
  kSizeAddress = 3,       // the same, the size in this one
  kAddressSizePlace = 4,  // in memory, at the address in the register
  kSizeAddressPlace = 5,  // the same, the size first
};

// Of a line of "strings": a StringAt in each byte, from the lowest on. False: it has none, or is
// damaged.
bool read_strings(std::string_view text, std::size_t line, std::uint64_t& out) noexcept;

enum SlowCallFlags : std::uint64_t {
  kSlowUnwound = 1,       // it ended by an exception: there is no result
  kSlowHasArguments = 2,  // otherwise it had begun before they were kept
  kSlowHasStack = 4,      // otherwise there was no room for it
  kSlowStackEnds = 8,     // its last frame is the thread's outermost; otherwise there are more
};

// As it was when the call ended.
struct SlowString {
  std::uint64_t value = 0;  // number of the argument's register, or kResultValue
  std::uint64_t size = 0;   // of the whole string. One that ends with a zero, which was not found:
                            // one more than there are bytes
  std::size_t count = 0;
  std::array<char, kMostStringBytes> bytes{};
  std::string_view text() const noexcept { return {bytes.data(), count}; }
};

struct SlowCallRecord {
  std::uint64_t probe = 0;
  std::uint64_t tid = 0;  // of the thread in which it ended
  std::uint64_t flags = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t number = 0;  // of the traced calls of the thread that made it
  std::uint64_t result = 0;  // what the ABI's register for an integer holds
  std::array<std::uint64_t, kMostArguments> arguments{};  // as they were at the call
  std::size_t string_count = 0;
  std::array<SlowString, kMostStrings> strings{};
};

void encode(Encoder& out, const SlowCallRecord& record,
            std::span<const std::uint64_t> return_addresses) noexcept;
// `return_addresses` needs room for kMostSlowFrames, `count` of them are filled: the caller's
// first. nullopt: damaged.
std::optional<SlowCallRecord> decode_slow_call(std::span<const std::byte> payload,
                                               std::span<std::uint64_t> return_addresses,
                                               std::size_t& count) noexcept;

// What a function's calls add up to since its last record.
struct ProbeCountsRecord {
  std::uint64_t probe = 0;
  std::uint64_t threshold_ns = 0;  // that is in use now; 0: a quantile that is not known yet
  std::uint64_t slow = 0;          // calls above the threshold
  std::uint64_t slow_ns = 0;       // how long they took
  std::uint64_t lost = 0;          // of them have no SLOW_CALL: too many at once
  std::uint64_t elsewhere = 0;     // calls from other places than those asked for, not measured
};
void encode(Encoder& out, const ProbeCountsRecord& record) noexcept;
std::optional<ProbeCountsRecord> decode_probe_counts(std::span<const std::byte> payload) noexcept;

// Before the first record about calls of the thread.
struct CallThreadRecord {
  std::uint64_t tid = 0;
  std::string_view name{};  // empty: it had ended
};
void encode(Encoder& out, const CallThreadRecord& record) noexcept;
// Lifetime: the name points into the payload.
std::optional<CallThreadRecord> decode_call_thread(std::span<const std::byte> payload) noexcept;

}  // namespace swipr::wire
