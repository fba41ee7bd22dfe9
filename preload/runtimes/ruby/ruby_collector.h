// Whether a thread of Ruby collects garbage. No symbol tells where the flag is, but each version
// exports rb_during_gc, whose few instructions read it. They are followed once.
#pragma once

#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/ruby/ruby_layout.h"

namespace swipr::runtimes {

// 3.0+: rb_thread_t.ractor.
inline constexpr std::uint64_t kRubyThreadRactor = 24;

// Completes the collector of a runtime that was found: follows the code of rb_during_gc to the flag
// and finds in the Ractor of that execution context, which is one of the main thread, where it says
// who runs. If anything is not what is known, no thread is ever seen to collect.
// Context: control thread.  Allocates: never.  Bounds: 16 instructions, 128 words of the Ractor.
void find_ruby_collector(RubyRuntime& ruby, ObjectPieces& reader, std::uint64_t context) noexcept;

// Whether the thread with that execution context collects garbage: the flag is set, and it is the
// last thread that held the lock of its Ractor (2.7: of the machine), without which none collects.
// Context: signal handler (only for the calling thread) or control thread.  Allocates: never.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool is_ruby_collecting(const RubyRuntime& ruby, Reader& reader,
                                          std::uint64_t context) noexcept {
  const RubyCollector& collector = ruby.collector;
  std::uint8_t flags = 0;
  if (collector.flag == 0 || !reader.read_value(collector.flag, flags) ||
      (flags & collector.mask) == 0) {
    return false;
  }
  // The context that runs, where 2.7 has it or through the thread and its Ractor.
  const bool is_old = ruby.current_context != 0;
  const std::uint64_t offsets[] = {ruby.layout.context_thread, kRubyThreadRactor,
                                   collector.running};
  std::uint64_t value = is_old ? ruby.current_context : context;
  for (unsigned step = is_old ? 2 : 0; step < 3; ++step) {
    if (!reader.read_value(value + (is_old ? 0 : offsets[step]), value)) return false;
  }
  return value == context;
}

}  // namespace swipr::runtimes
