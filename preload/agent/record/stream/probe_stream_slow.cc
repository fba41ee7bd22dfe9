// Slow calls, and what threads have counted.
#include <string.h>

#include <cstring>

#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/agent/record/stream/probe_in_stream.h"

namespace swipr::agent {

namespace {

// Without what is behind its end.
wire::SlowString as_written(const trace::SlowString& string) noexcept {
  static_assert(trace::kSlowStringCount == wire::kMostStrings);
  static_assert(sizeof(string.bytes) == wire::kMostStringBytes);
  wire::SlowString result{.value = string.value, .size = string.size, .count = string.count};
  std::memcpy(result.bytes.data(), string.bytes, string.count);
  if (string.size != trace::kEndsWithZero) return result;
  result.count = ::strnlen(string.bytes, string.count);
  result.size = result.count == string.count ? result.count + 1 : result.count;
  return result;
}

}  // namespace

void ProbeStream::introduce(std::size_t place, std::int32_t tid, StreamWriter& stream) noexcept {
  if (tid == 0 || introduced_[place] == tid) return;
  char buffer[32];
  FixedText<64> path;
  path.append("/proc/self/task/").append_number(static_cast<std::uint64_t>(tid)).append("/comm");
  std::string_view name = read_file_at(-1, path.c_str(), buffer);
  if (!name.empty() && name.back() == '\n') name.remove_suffix(1);
  const wire::CallThreadRecord record{.tid = static_cast<std::uint64_t>(tid), .name = name};
  if (stream.put_record(record)) introduced_[place] = tid;
}

void ProbeStream::write_thread(std::size_t line, std::size_t place, StreamWriter& stream,
                               Moment start, Moment now) noexcept {
  Probe& probe = probes_[line];
  if (probe.threads == nullptr || !probe.is_attached) return;
  trace::Histogram sum{};
  trace::Histogram& counted = probe.threads[place];
  if (!trace::add_thread(probe.number, place, sum)) return;
  introduce(place, trace::pool.threads[place].tid.load(), stream);
  if (sum.calls == counted.calls && sum.untraced == counted.untraced) return;
  const bool written = stream.put([&](wire::Encoder& out) {
    wire::LatencyEncoder latency(out, {.probe = line,
                                       .tid = static_cast<std::uint64_t>(introduced_[place]),
                                       .begin_ns = since(start, probe.written),
                                       .end_ns = since(start, now),
                                       .sum_ns = sum.sum_ns - counted.sum_ns,
                                       .max_ns = sum.max_ns > counted.max_ns ? sum.max_ns : 0,
                                       .unwound = sum.unwound - counted.unwound,
                                       .untraced = sum.untraced - counted.untraced});
    put_buckets(latency, sum, counted);
  });
  if (written) counted = sum;
}

// The middle of the quantile's bucket.
void ProbeStream::follow_quantile(Probe& probe, const trace::Histogram& sum) noexcept {
  const std::uint64_t calls = sum.calls - probe.first.calls;
  if (settings_.slower_quantile == 0 || calls < fewest_calls(settings_.slower_quantile)) return;
  const std::uint64_t below = calls / kQuantileUnits * settings_.slower_quantile +
                              calls % kQuantileUnits * settings_.slower_quantile / kQuantileUnits;
  std::uint64_t seen = 0;
  std::size_t bucket = 0;
  for (; bucket + 1 < kBucketCount; ++bucket) {
    seen += sum.buckets[bucket] - probe.first.buckets[bucket];
    if (seen > below) break;
  }
  probe.threshold_ns =
      std::max<std::uint64_t>((bucket_begin(bucket) + bucket_begin(bucket + 1)) / 2, 1);
  trace::follow_slow_calls(probe.number, probe.threshold_ns);
}

void ProbeStream::write_slow_call(const trace::SlowCall& call, const unwind::FrameBuffer& frames,
                                  StreamWriter& stream, Moment start) noexcept {
  std::size_t line = 0;
  while (line < count_ && (probes_[line].number != call.probe || probes_[line].address == 0))
    ++line;
  if (line == count_) return;
  introduce(call.place, call.tid, stream);
  const std::uint32_t count = std::min(frames.frame_count, settings_.slow_frames);
  const bool has_ended = (frames.flags & wire::kStackRootReached) != 0;
  const std::uint64_t end = trace::end_ns_of(
      call, static_cast<std::uint64_t>(std::max(monotonic_now(), Moment::zero()).count()));
  const std::uint64_t begin = end - std::min(end, call.ns);
  const auto from = static_cast<std::uint64_t>(std::max(start, Moment::zero()).count());
  std::uint64_t flags = 0;
  if (call.unwound) flags |= wire::kSlowUnwound;
  if (call.is_detailed) flags |= wire::kSlowHasArguments;
  if (count != 0) flags |= wire::kSlowHasStack;
  if (has_ended && count == frames.frame_count) flags |= wire::kSlowStackEnds;
  wire::SlowCallRecord record{.probe = line,
                              .tid = static_cast<std::uint64_t>(call.tid),
                              .flags = flags,
                              .begin_ns = begin - std::min(begin, from),
                              .duration_ns = call.ns,
                              .number = call.number,
                              .result = call.result};
  std::copy_n(call.details.arguments, record.arguments.size(), record.arguments.begin());
  for (std::size_t at = 0; at < call.string_count; ++at) {
    record.strings[at] = as_written(call.strings[at]);
  }
  record.string_count = call.string_count;
  const bool written = stream.put([&](wire::Encoder& out) {
    encode(out, record, {frames.pcs.data(), count});
  });
  if (!written) ++probes_[line].unwritten;
}

// A frame of the program takes some tens of bytes; the walk ends where the copy does.
bool ProbeStream::prepare_slow_calls() const noexcept {
  constexpr std::uint32_t kWordsForFrame = 64;
  trace::make_room_for_slow_calls(trace::kSlowCallCount);
  return trace::prepare_slow_calls(settings_.slow_frames * kWordsForFrame);
}

// Half of the budget is for keeping slow calls. What comes above it is counted only.
void ProbeStream::make_room() noexcept {
  constexpr std::uint64_t kFewest = 64;
  const Moment now = monotonic_now();
  const auto ms =
      static_cast<std::uint64_t>(std::max<std::int64_t>((now - room_made_).count(), 0)) / 1'000'000;
  room_made_ = now;
  const std::uint64_t budget_ns =
      std::uint64_t{settings_.budget_permille} * 1000 / 2 * std::min<std::uint64_t>(ms, 1000);
  trace::make_room_for_slow_calls(std::max(budget_ns / trace::kSlowCallNs, kFewest));
}

unwind::Registers ProbeStream::caller_of(const trace::SlowCall& call) noexcept {
  unwind::Registers caller;
  caller.values[unwind::kPcRegister] = call.return_address;
  caller.values[unwind::kStackRegister] = call.stack;
  caller.values[unwind::kFrameRegister] = call.details.frame;
  caller.values[unwind::kBaseRegister] = call.details.base;
  caller.known = unwind::kCallersRegisters;
  return caller;
}

void ProbeStream::stop_slow_calls() noexcept {
  if (!follows_slow_calls()) return;
  for (const Probe& probe : std::span(probes_, count_)) {
    if (probe.is_attached) trace::stop_slow_calls(probe.number);
  }
}

}  // namespace swipr::agent
