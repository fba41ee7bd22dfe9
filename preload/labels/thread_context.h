// The thread context of OpenTelemetry's SDKs: a thread-local pointer to a record with the ids of
// the trace and the span that the thread works for. They become labels, "trace_id" and "span_id".
// Context: anywhere, signal handlers included.  Allocates: never.
// Source: OpenTelemetry, OTEP 4947, Thread Context.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/labels/label.h"

namespace swipr::labels {

inline constexpr char kContextVariable[] = "otel_thread_ctx_v1";

// The record's beginning; attributes follow, whose names are elsewhere.
struct ThreadContext {
  std::uint8_t trace_id[16];
  std::uint8_t span_id[8];
  std::uint8_t valid;  // 1: it is
  std::uint8_t trace_flags;
};
static_assert(sizeof(ThreadContext) == 26);

// Distance of the pointer from the thread pointer, in all threads; 0: there is none.
extern std::atomic<std::int64_t> context_offset;

// Adds the ids, if the record is valid, has some, and there is room.
SWIPR_SIGNAL_SAFE void add_context(const ThreadContext& context, LabelSet& labels) noexcept;
// The same of the calling thread. The record is read by the kernel, as another thread may free it.
SWIPR_SIGNAL_SAFE void add_own_context(LabelSet& labels) noexcept;

}  // namespace swipr::labels
