#include "cli/session/stream/stream_meter.h"

#include <algorithm>
#include <limits>

#include "common/host/text/hex.h"
#include "common/host/text/runtime_text.h"
#include "common/wire/decoder.h"
#include "common/wire/runtimes.h"
#include "common/wire/traced_calls.h"

namespace swipr::session {

namespace {

// Limits for untrusted streams: the kernel's maximum of threads, and more counters than any
// version has.
constexpr std::size_t kMaxThreads = std::size_t{4} << 20;
constexpr std::size_t kMaxCounters = 256;
constexpr std::size_t kMaxModules = 4096;
constexpr std::size_t kMaxWarnings = 16;

std::chrono::nanoseconds as_duration(std::uint64_t nanoseconds) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(nanoseconds, kMax)));
}

}  // namespace

std::uint64_t StreamSummary::total(std::string_view name, std::uint64_t received) const {
  const auto found = totals.find(name);
  return found == totals.end() ? received : std::max(found->second, received);
}

host::Result<void> StreamMeter::observe(std::span<const std::byte> payload) {
  while (!payload.empty()) {
    const auto record = wire::take_record(payload);
    if (!record || !observe_record(record->type, record->payload)) {
      return host::Error("a record of the stream is damaged");
    }
  }
  return {};
}

bool StreamMeter::observe_record(std::uint8_t type, std::span<const std::byte> payload) {
  switch (static_cast<wire::RecordType>(type)) {
    case wire::RecordType::kSource:
      return observe_source(payload);
    case wire::RecordType::kThread: {
      const auto thread = wire::decode_thread(payload);
      // An artificial thread has no tid.
      if (thread && thread->tid != 0 && threads_.size() < kMaxThreads) {
        threads_.insert(thread->thread_index);
      }
      summary_.threads = threads_.size();
      return thread.has_value();
    }
    case wire::RecordType::kTick:
      return observe_tick(payload);
    case wire::RecordType::kTotals:
      return observe_totals(payload);
    case wire::RecordType::kEnd: {
      const auto end = wire::decode_end(payload);
      if (!end) return false;
      summary_.end = end->reason;
      summary_.end_text = end->text;
      return true;
    }
    case wire::RecordType::kModule:
      observe_module(payload);
      break;
    case wire::RecordType::kRuntime:
      return observe_runtime(payload);
    case wire::RecordType::kMessage:
      return observe_message(payload);
    case wire::RecordType::kProbe:
      return observe_probe(payload);
    case wire::RecordType::kLatency:
    case wire::RecordType::kSlowCall:
    case wire::RecordType::kProbeCounts:
    case wire::RecordType::kCallThread:
    case wire::RecordType::kLabels:
    case wire::RecordType::kStackLabels:
    case wire::RecordType::kModuleGone:
    case wire::RecordType::kStack:
    case wire::RecordType::kNames:
    case wire::RecordType::kCode:
    case wire::RecordType::kCodeGone:
    case wire::RecordType::kUser:
    case wire::RecordType::kDifference:
    case wire::RecordType::kFunction:
    case wire::RecordType::kStackCalls:
    case wire::RecordType::kCallEnd:
      break;
  }
  return true;  // other record types are checked by the importer
}

bool StreamMeter::observe_source(std::span<const std::byte> payload) {
  const auto source = wire::decode_source(payload);
  if (!source || source->pid > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return false;
  }
  summary_.pid = Pid{static_cast<std::int32_t>(source->pid)};
  summary_.command_name = source->command_name;
  summary_.executable = source->executable;
  summary_.interval = as_duration(source->interval_ns);
  summary_.ticks_asked = source->ticks_asked;
  return true;
}

bool StreamMeter::observe_runtime(std::span<const std::byte> payload) {
  const auto runtime = wire::decode_runtime(payload);
  if (!runtime) return false;
  constexpr std::size_t kMost = 16;
  if (runtime->state == wire::RuntimeState::kRefused && summary_.refused_runtimes.size() < kMost) {
    summary_.refused_runtimes.insert(host::describe_refusal(language_name(runtime->language),
                                                            runtime->version, runtime->reason));
  }
  return true;
}

bool StreamMeter::observe_message(std::span<const std::byte> payload) {
  const auto message = wire::decode_message(payload);
  if (!message) return false;
  if (message->level == wire::MessageLevel::kWarning && summary_.warnings.size() < kMaxWarnings) {
    summary_.warnings.emplace(message->text);
  }
  return true;
}

bool StreamMeter::observe_probe(std::span<const std::byte> payload) {
  const auto probe = wire::decode_probe(payload);
  if (!probe || probe->probe >= wire::kMostProbes) return false;
  if (probe->state == wire::ProbeState::kAttached) {
    summary_.traced.insert(probe->probe);
  } else {
    summary_.traced.erase(probe->probe);
  }
  return true;
}

void StreamMeter::observe_module(std::span<const std::byte> payload) {
  const auto module = wire::decode_module(payload);
  if (!module || module->build_id.empty() || summary_.modules.size() == kMaxModules) return;
  summary_.modules.insert_or_assign(host::to_hex(module->build_id),
                                    SeenModule{.path = std::string(module->path),
                                               .pid = summary_.pid,
                                               .start = RuntimeAddr{module->start},
                                               .size_bytes = module->size_bytes});
}

bool StreamMeter::observe_tick(std::span<const std::byte> payload) {
  wire::TickDecoder tick(payload);
  wire::SampleEntry entry;
  std::uint64_t flags = 0;
  while (tick.take(entry, flags)) {
    summary_.samples += entry.ticks;
    // CPU time of threads that were never sampled is an entry without ticks and without a stack.
    const bool has_stack = entry.stack_id != 0 || (flags & wire::kSampleSameStack) != 0;
    if (entry.ticks == 0 && !has_stack) continue;
    const auto cpu = as_duration(entry.cpu_ns);
    summary_.sampled_cpu += std::min(cpu, std::chrono::nanoseconds::max() - summary_.sampled_cpu);
  }
  const auto delta = as_duration(tick.time_delta_ns());
  // One tick may span several records; all but the first have a delta of 0.
  if (delta.count() != 0 || summary_.ticks == 0) ++summary_.ticks;
  summary_.elapsed += std::min(delta, std::chrono::nanoseconds::max() - summary_.elapsed);
  return tick.ok();
}

bool StreamMeter::observe_totals(std::span<const std::byte> payload) {
  wire::TotalsDecoder totals(payload);
  std::string_view name;
  std::uint64_t value = 0;
  while (totals.take(name, value)) {
    if (summary_.totals.size() < kMaxCounters)
      summary_.totals.insert_or_assign(std::string(name), value);
  }
  return totals.ok();
}

}  // namespace swipr::session
