// Samples joined with calls of traced functions (traced_calls.h): the records STACK_CALLS and
// CALL_END, which recordings have that sample and trace ("probes" without "sampling": false).
//
// A call is known by its function, its place among the calls that are active at a time, and its
// start: no two calls have all three. The calls of a function that it made to itself are one, the
// outermost. Context: anywhere.  Allocates: never.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/wire/decoder.h"
#include "common/wire/encoder.h"
#include "common/wire/traced_calls.h"

namespace swipr::wire {

struct OpenCall {
  std::uint64_t probe = 0;  // line of the request, from 0
  std::uint64_t place = 0;
  std::uint64_t start_ns = 0;  // since the start of the source; 0: before it

  friend bool operator==(const OpenCall&, const OpenCall&) = default;
};
inline constexpr std::size_t kMostOpenCalls = kMostProbes;  // of a stack

// The stack `stack_id` is that with the id `base_id`, within these calls. Ids are those of STACK
// records, and redefined as they are.
struct StackCallsRecord {
  std::uint64_t stack_id = 0;
  std::uint64_t base_id = 0;
  std::size_t call_count = 0;
  std::array<OpenCall, kMostOpenCalls> calls{};
};
void encode(Encoder& out, const StackCallsRecord& record) noexcept;
// nullopt: damaged.
std::optional<StackCallsRecord> decode_stack_calls(std::span<const std::byte> payload) noexcept;

enum CallEndFlags : std::uint64_t {
  kCallUnwound = 1,  // by an exception
};

// At most one for each call. A call without it had not returned at the end of the recording, was
// left by longjmp, or its end is among those that were lost.
struct CallEndRecord {
  OpenCall call;
  std::uint64_t duration_ns = 0;
  std::uint64_t flags = 0;
};
void encode(Encoder& out, const CallEndRecord& record) noexcept;
// nullopt: damaged.
std::optional<CallEndRecord> decode_call_end(std::span<const std::byte> payload) noexcept;

}  // namespace swipr::wire
