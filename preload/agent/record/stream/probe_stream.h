// The traced functions of one recording: what they have counted since, and what the stream has of
// it. Context: control thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/wire/traced_calls.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/modules/module_map.h"
#include "preload/agent/probes/probe_table.h"
#include "preload/agent/record/stream/stream_writer.h"
#include "preload/trace/calls/sampled_calls.h"
#include "preload/trace/calls/slow_calls.h"
#include "preload/unwind/base/open_calls.h"

namespace swipr::agent {

struct ProbeSettings {
  std::uint32_t budget_permille = 0;
  std::chrono::nanoseconds interval{0};  // of LATENCY
  std::uint64_t slower_ns = 0;           // of slow calls; 0: none, or by the quantile
  std::uint64_t slower_quantile = 0;     // of kQuantileUnits
  std::uint32_t slow_frames = 0;         // of callers
  bool has_sites = false;
  bool by_thread = false;
  bool joins_samples = false;  // samples are taken, and say in which calls
};

class ProbeStream {
 public:
  // For `count` functions. False: no memory.
  [[nodiscard]] bool create(std::size_t count, const ProbeSettings& settings) noexcept;
  // Detaches all, without writing.
  void release() noexcept;
  bool is_open() const noexcept { return probes_ != nullptr; }
  bool any_attached() const noexcept;

  // The answer for the next function of the request.
  void add(const ProbeAnswer& answer, StreamWriter& stream, Moment start) noexcept;

  // --- while it runs. `start` is the recording's: times count from it.
  bool is_due(Moment now) const noexcept { return any_attached() && now >= due_; }
  // LATENCY of each function that is attached.
  void write(StreamWriter& stream, Moment start, Moment now) noexcept;
  // When check() has to be called.
  Moment check_at() const noexcept { return any_attached() ? check_at_ : kNever; }
  // Detaches functions whose calls cost more than the budget.
  void check(StreamWriter& stream, Moment start, Moment now) noexcept;
  // Detaches functions whose modules were unmapped.
  void drop_gone(const ModuleMap& modules, ProcMemory& memory, StreamWriter& stream,
                 Moment start) noexcept;
  // --- slow calls
  bool follows_slow_calls() const noexcept {
    return is_open() && (settings_.slower_ns != 0 || settings_.slower_quantile != 0);
  }
  // Before functions are attached. False: no memory.
  bool prepare_slow_calls() const noexcept;
  // Those that have ended since. `walk(caller, stack, frames)` walks from the caller's registers
  // through a copy of its stack.
  template <typename Walk>
  void write_slow_calls(Walk&& walk, StreamWriter& stream, Moment start) noexcept {
    static unwind::FrameBuffer frames;  // of the control thread
    if (!follows_slow_calls()) return;
    const std::size_t first = trace::slow_calls.next.load();  // the oldest ones
    for (std::size_t at = 0; at < trace::kSlowCallCount; ++at) {
      const std::size_t place = (first + at) % trace::kSlowCallCount;
      const trace::SlowCall* const call = trace::find_slow_call(place);
      if (call == nullptr) continue;
      frames.frame_count = 0;
      frames.flags = 0;
      if (call->copy_words != 0)
        walk(caller_of(*call), std::span(trace::stack_of(*call), call->copy_words), frames);
      write_slow_call(*call, frames, stream, start);
      trace::free_slow_call(place);
    }
    make_room();
  }
  // --- calls that samples meet
  using CallEnd = trace::SampledCall;
  // Before functions are attached. False: no memory.
  static bool prepare_call_ends() noexcept { return trace::prepare_sampled_calls(); }
  // Those since the last time, of the whole process.
  template <typename Use>
  static void take_call_ends(Use&& use) noexcept {
    trace::take_sampled_calls(use);
  }
  bool joins_samples() const noexcept { return is_open() && settings_.joins_samples; }
  // Those of this recording among them, as a stack has them (pack_call). Returns a part of `out`.
  static constexpr std::size_t kMostCallWords = 2 * wire::kMostOpenCalls;
  std::span<const std::uint64_t> calls_of(
      const unwind::OpenCalls& calls, std::span<std::uint64_t, kMostCallWords> out) const noexcept;
  // Of the process, since the recording began, for which there was no place.
  std::uint64_t call_ends_lost() const noexcept;
  // False: the stream has no room.
  bool write_call_end(const CallEnd& call, StreamWriter& stream) const noexcept;

  // Before the last of them are written. The functions stay attached.
  void stop_slow_calls() noexcept;
  // Detaches all, and writes what is left.
  void finish(StreamWriter& stream, Moment start) noexcept;

 private:
  struct Probe;

  void write_latency(std::size_t line, StreamWriter& stream, Moment start, Moment now) noexcept;
  void put_counts(wire::Encoder& out, std::size_t line, const trace::Histogram& sum) const noexcept;
  void make_room() noexcept;
  static unwind::Registers caller_of(const trace::SlowCall& call) noexcept;
  void write_slow_call(const trace::SlowCall& call, const unwind::FrameBuffer& frames,
                       StreamWriter& stream, Moment start) noexcept;
  void write_thread(std::size_t line, std::size_t place, StreamWriter& stream, Moment start,
                    Moment now) noexcept;
  void introduce(std::size_t place, std::int32_t tid, StreamWriter& stream) noexcept;
  void follow_quantile(Probe& probe, const trace::Histogram& sum) noexcept;
  void detach(std::size_t line, wire::ProbeReason reason, std::string_view text,
              StreamWriter& stream, Moment start) noexcept;
  std::uint64_t measure(Moment now, Probe*& costliest) noexcept;
  std::optional<wire::OpenCall> find_call(std::uint32_t probe, std::uint32_t place,
                                          std::uint64_t start) const noexcept;
  void tell_threads_left_out(StreamWriter& stream) noexcept;

  Probe* probes_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  ProbeSettings settings_;
  Moment due_{0};
  Moment check_at_{0};
  Moment checked_{0};
  Moment room_made_{0};
  std::uint64_t start_stamp_ = 0;  // time stamp counter at the start of the recording
  std::uint64_t lost_before_ = 0;  // ends of calls
  bool was_above_ = false;
  std::uint32_t threads_left_out_ = 0;
  std::int32_t introduced_[trace::kThreadCount] = {};  // the thread of each place in the pool
};

}  // namespace swipr::agent
