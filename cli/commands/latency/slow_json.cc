#include "cli/commands/latency/slow_json.h"

#include <fmt/format.h>

#include "cli/export/text/json_text.h"

namespace swipr::commands {

namespace {

using exporters::json_string;

std::string frame_json(const tracing::CallerFrame& frame) {
  return fmt::format("{{\"function\":{},\"file\":{},\"line\":{},\"inlined\":{}}}",
                     json_string(frame.function),
                     frame.file.empty() ? "null" : json_string(frame.file),
                     frame.file.empty() ? "null" : std::to_string(frame.line), frame.inlined);
}

std::string hex(std::uint64_t value) { return fmt::format("\"0x{:x}\"", value); }

std::string summary_json(const tracing::SlowSummary& function) {
  const tracing::Probe& probe = *function.probe;
  return fmt::format(
      "{{\"function\":{},\"threshold\":{},\"threshold_ns\":{},\"calls\":{},\"sum_ns\":{},"
      "\"slow\":{},\"slow_ns\":{},\"not_listed\":{},\"elsewhere\":{},\"open\":{}}}",
      json_string(function.function), json_string(function.threshold),
      probe.counts.threshold.count() == 0 ? "null" : std::to_string(probe.counts.threshold.count()),
      probe.all.calls(), probe.all.totals().sum.count(), probe.counts.slow,
      probe.counts.slow_time.count(), probe.counts.lost, probe.counts.elsewhere, probe.open);
}

}  // namespace

std::string format_slow_call_json(const tracing::NamedSlowCall& call, std::string_view thread_name,
                                  std::uint64_t end_ns) {
  const wire::SlowCallRecord& record = call.record;
  exporters::StringSink out;
  out.write(
      fmt::format("{{\"final\":false,\"function\":{},\"tid\":{},\"thread\":{},\"end_ns\":{},"
                  "\"duration_ns\":{},\"exception\":{},",
                  json_string(call.function), record.tid, json_string(thread_name), end_ns,
                  record.duration_ns, (record.flags & wire::kSlowUnwound) != 0));
  const bool has_arguments = (record.flags & wire::kSlowHasArguments) != 0;
  out.write(fmt::format("\"result\":{},",
                        (record.flags & wire::kSlowUnwound) != 0 ? "null" : hex(record.result)));
  const std::span<const std::uint64_t> shown(record.arguments.data(), call.argument_count);
  exporters::write_json_array(out, "arguments", has_arguments ? shown : shown.first(0), hex);
  out.write(",");
  exporters::write_json_array(out, "callers", call.callers, frame_json);
  out.write(fmt::format(",\"callers_complete\":{}}}\n", call.is_whole));
  return std::move(out.text);
}

std::string format_slow_summary_json(const SlowReport& report) {
  exporters::StringSink out;
  out.write(fmt::format("{{\"version\":\"{}\",\"pid\":{},\"command\":{},\"final\":true,",
                        SWIPR_VERSION, report.pid.value, json_string(report.command)));
  exporters::write_json_array(out, "notes", report.notes, json_string);
  out.write(",");
  exporters::write_json_array(out, "functions", report.functions, summary_json);
  out.write("}\n");
  return std::move(out.text);
}

}  // namespace swipr::commands
