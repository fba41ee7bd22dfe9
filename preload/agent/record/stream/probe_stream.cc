#include "preload/agent/record/stream/probe_stream.h"

#include <algorithm>

#include "preload/agent/base/log.h"
#include "preload/agent/record/stream/probe_in_stream.h"

namespace swipr::agent {

namespace {

// A function that is called 10⁸ times a second costs more than the budget for this long, twice.
constexpr std::chrono::milliseconds kCheckInterval{40};
constexpr std::size_t kThreadsBytes =
    round_to_pages(trace::kThreadCount * sizeof(trace::Histogram));
// Above this many times the budget one look is enough.
constexpr std::uint64_t kFarAbove = 4;

}  // namespace

bool ProbeStream::create(std::size_t count, const ProbeSettings& settings) noexcept {
  probes_ = static_cast<Probe*>(map_memory(round_to_pages(count * sizeof(Probe))));
  if (probes_ == nullptr) return false;
  capacity_ = count;
  settings_ = settings;
  start_stamp_ = trace::stamp_now();
  lost_before_ = trace::sampled_calls.lost.load();
  return true;
}

void ProbeStream::release() noexcept {
  if (probes_ == nullptr) return;
  stop_slow_calls();
  for (Probe& probe : std::span(probes_, count_)) {
    if (probe.is_attached) probe_table().remove(probe.number);
    if (probe.threads != nullptr) unmap_memory(probe.threads, kThreadsBytes);
  }
  unmap_memory(probes_, round_to_pages(capacity_ * sizeof(Probe)));
  probes_ = nullptr;
  count_ = capacity_ = 0;
}

bool ProbeStream::any_attached() const noexcept {
  return std::any_of(probes_, probes_ + count_,
                     [](const Probe& probe) { return probe.is_attached; });
}

void ProbeStream::add(const ProbeAnswer& answer, StreamWriter& stream, Moment start) noexcept {
  const Moment now = monotonic_now();
  Probe& probe = probes_[count_];
  probe.is_attached = answer.is_attached();
  probe.number = answer.probe;
  probe.address = answer.address;
  probe.size_bytes = answer.size_bytes;
  probe.written = now;
  if (probe.is_attached) {
    trace::add_up(probe.number, probe.counted);
    probe.seen_calls = trace::count_calls(probe.number);
    probe.first_max_ns = probe.counted.max_ns;
    probe.first = probe.counted;
    probe.seen_cost_ns = trace::cost_of_calls_ns(probe.number);
    if (follows_slow_calls()) {
      probe.threshold_ns = settings_.slower_ns;
      trace::choose_strings(probe.number, answer.strings);
      trace::follow_slow_calls(probe.number,
                               settings_.slower_ns != 0 ? settings_.slower_ns : trace::kNeverSlow);
    }
    if (settings_.by_thread)
      probe.threads = static_cast<trace::Histogram*>(map_memory(kThreadsBytes));
    for (std::size_t place = 0; probe.threads != nullptr && place < trace::kThreadCount; ++place) {
      trace::add_thread(probe.number, place, probe.threads[place]);
    }
  }
  stream.put_record(wire::ProbeRecord{
      .probe = count_,
      .state = probe.is_attached ? wire::ProbeState::kAttached : wire::ProbeState::kRefused,
      .reason = answer.reason,
      .time_ns = since(start, now),
      .address = answer.address,
      .size_bytes = answer.size_bytes,
      .text = answer.text.view()});
  ++count_;
  checked_ = now;
  check_at_ = now + kCheckInterval;
  due_ = now + settings_.interval;
}

void ProbeStream::write(StreamWriter& stream, Moment start, Moment now) noexcept {
  struct State {
    ProbeStream& probes;
    StreamWriter& stream;
    Moment start, now;
  } state{*this, stream, start, now};
  // The last calls of a thread, before another one has its place.
  const auto on_end = [](void* pointer, std::size_t place) noexcept {
    const State& all = *static_cast<State*>(pointer);
    for (std::size_t line = 0; line < all.probes.count_; ++line) {
      all.probes.write_thread(line, place, all.stream, all.start, all.now);
    }
  };
  trace::reclaim_ended(on_end, &state);
  for (std::size_t line = 0; line < count_; ++line) {
    if (probes_[line].is_attached) write_latency(line, stream, start, now);
  }
  tell_threads_left_out(stream);
  // Late ticks do not shift the following ones.
  due_ += std::max<Moment>((now - due_) / settings_.interval * settings_.interval, Moment::zero()) +
          settings_.interval;
}

// In the same piece of the stream as LATENCY, so that both are of one stretch.
void ProbeStream::put_counts(wire::Encoder& out, std::size_t line,
                             const trace::Histogram& sum) const noexcept {
  const Probe& probe = probes_[line];
  encode(out,
         wire::ProbeCountsRecord{.probe = line,
                                 .threshold_ns = probe.threshold_ns,
                                 .slow = sum.slow - probe.counted.slow,
                                 .slow_ns = sum.slow_ns - probe.counted.slow_ns,
                                 .lost = sum.slow_lost - probe.counted.slow_lost + probe.unwritten,
                                 .elsewhere = sum.elsewhere - probe.counted.elsewhere});
}

void ProbeStream::write_latency(std::size_t line, StreamWriter& stream, Moment start,
                                Moment now) noexcept {
  Probe& probe = probes_[line];
  for (std::size_t place = 0; probe.threads != nullptr && place < trace::kThreadCount; ++place) {
    write_thread(line, place, stream, start, now);
  }
  trace::Histogram sum;
  trace::add_up(probe.number, sum);
  std::uint64_t longest_ns = probe.longest_bucket_ns;
  for (std::size_t bucket = 0; bucket < kBucketCount; ++bucket) {
    if (sum.buckets[bucket] != probe.counted.buckets[bucket]) {
      longest_ns = std::max(longest_ns, bucket_begin(bucket));
    }
  }
  const std::uint64_t max_ns = sum.max_ns > probe.first_max_ns ? sum.max_ns : longest_ns;
  const bool written = stream.put([&](wire::Encoder& out) {
    wire::LatencyEncoder latency(out, {.probe = line,
                                       .begin_ns = since(start, probe.written),
                                       .end_ns = since(start, now),
                                       .sum_ns = sum.sum_ns - probe.counted.sum_ns,
                                       .max_ns = max_ns,
                                       .unwound = sum.unwound - probe.counted.unwound,
                                       .untraced = sum.untraced - probe.counted.untraced,
                                       .open = trace::open_calls_of(probe.number)});
    put_buckets(latency, sum, probe.counted);
    if (follows_slow_calls() || settings_.has_sites) put_counts(out, line, sum);
  });
  if (!written) return;  // the next one covers this stretch, too
  probe.unwritten = 0;
  if (follows_slow_calls() && probe.is_attached) follow_quantile(probe, sum);
  probe.counted = sum;
  probe.written = now;
  probe.longest_bucket_ns = longest_ns;
}

void ProbeStream::detach(std::size_t line, wire::ProbeReason reason, std::string_view text,
                         StreamWriter& stream, Moment start) noexcept {
  Probe& probe = probes_[line];
  if (!probe.is_attached) return;
  if (follows_slow_calls()) trace::stop_slow_calls(probe.number);
  probe_table().remove(probe.number);
  const Moment now = monotonic_now();
  write_latency(line, stream, start, now);
  if (follows_slow_calls()) trace::stop_slow_calls(probe.number);  // a quantile may have been set
  probe.is_attached = false;
  if (reason == wire::ProbeReason::kNone) return;
  FixedText<64> address;
  address.append("0x").append_hex(probe.address);
  log_line(LogLevel::kWarning, "a function is not traced any more, because", text);
  log_line(LogLevel::kInfo, "it is the one at", address.view());
  stream.put_record(wire::ProbeRecord{.probe = line,
                                      .state = wire::ProbeState::kDetached,
                                      .reason = reason,
                                      .time_ns = since(start, now),
                                      .address = probe.address,
                                      .size_bytes = probe.size_bytes,
                                      .text = text});
}

// The cost of all calls since the last check, in ns per second.
std::uint64_t ProbeStream::measure(Moment now, Probe*& costliest) noexcept {
  const auto elapsed =
      static_cast<std::uint64_t>(std::max<std::int64_t>((now - checked_).count(), 1));
  std::uint64_t all_ns = 0;
  costliest = nullptr;
  for (Probe& probe : std::span(probes_, count_)) {
    if (!probe.is_attached) continue;
    const std::uint64_t calls = trace::count_calls(probe.number);
    const std::uint64_t cost_ns = trace::cost_of_calls_ns(probe.number);
    probe.rate = (calls - probe.seen_calls) * 1'000'000'000 / elapsed;
    probe.cost_ns =
        (cost_ns - probe.seen_cost_ns) * 1'000'000 / std::max<std::uint64_t>(elapsed / 1000, 1);
    probe.seen_calls = calls;
    probe.seen_cost_ns = cost_ns;
    all_ns += probe.cost_ns;
    if (costliest == nullptr || probe.cost_ns > costliest->cost_ns) costliest = &probe;
  }
  checked_ = now;
  return all_ns;
}

void ProbeStream::check(StreamWriter& stream, Moment start, Moment now) noexcept {
  if (now < check_at_) return;
  for (Probe& probe : std::span(probes_, count_)) {
    if (settings_.slower_quantile == 0 || !probe.is_attached || probe.threshold_ns != 0) continue;
    if (trace::count_calls(probe.number) - probe.first.calls <
        fewest_calls(settings_.slower_quantile))
      continue;
    trace::Histogram sum;
    trace::add_up(probe.number, sum);
    follow_quantile(probe, sum);
  }
  Probe* costliest = nullptr;
  std::uint64_t cost_ns = measure(now, costliest);
  const std::uint64_t budget_ns = std::uint64_t{settings_.budget_permille} * 1'000'000;
  const bool is_above = cost_ns > budget_ns;
  while (costliest != nullptr && cost_ns > budget_ns * (was_above_ ? 1 : kFarAbove)) {
    cost_ns -= costliest->cost_ns;
    FixedText<160> text;
    text.append("its calls, ").append_number(costliest->rate);
    text.append(" per second, cost more than --max-overhead");
    detach(static_cast<std::size_t>(costliest - probes_), wire::ProbeReason::kBudget, text.view(),
           stream, start);
    costliest = nullptr;
    for (Probe& probe : std::span(probes_, count_)) {
      const bool is_more = costliest == nullptr || probe.cost_ns > costliest->cost_ns;
      if (probe.is_attached && is_more) costliest = &probe;
    }
  }
  was_above_ = is_above;
  check_at_ = monotonic_now() + kCheckInterval;
}

void ProbeStream::drop_gone(const ModuleMap& modules, ProcMemory& memory, StreamWriter& stream,
                            Moment start) noexcept {
  for (std::size_t line = 0; line < count_; ++line) {
    if (!probes_[line].is_attached ||
        !probe_table().is_gone(probes_[line].number, modules, memory)) {
      continue;
    }
    detach(line, wire::ProbeReason::kModuleGone, "its library was unloaded", stream, start);
  }
}

void ProbeStream::finish(StreamWriter& stream, Moment start) noexcept {
  for (std::size_t line = 0; line < count_; ++line) {
    detach(line, wire::ProbeReason::kNone, {}, stream, start);
  }
  if (is_open()) tell_threads_left_out(stream);
}

void ProbeStream::tell_threads_left_out(StreamWriter& stream) noexcept {
  const std::uint32_t left_out = trace::pool.threads_left_out.load();
  if (left_out == threads_left_out_) return;
  threads_left_out_ = left_out;
  FixedText<128> text;
  text.append_number(left_out).append(" threads are not traced: more than 512 have made calls");
  stream.write_message(wire::MessageLevel::kWarning, text.view());
}

}  // namespace swipr::agent
