#include "cli/commands/latency/latency_json.h"

#include <fmt/format.h>

#include <optional>

#include "cli/export/text/json_text.h"
#include "cli/trace/modes.h"

namespace swipr::commands {

namespace {

using exporters::json_string;
using tracing::Durations;
using tracing::FunctionLatency;

std::string ns_or_null(std::optional<std::chrono::nanoseconds> time) {
  return time ? std::to_string(time->count()) : "null";
}

std::string quantiles_json(const Durations& durations) {
  std::string text;
  for (const tracing::QuantileName& quantile : tracing::kQuantiles) {
    text += fmt::format("{}\"{}\":{}", text.empty() ? "{" : ",", quantile.name,
                        ns_or_null(durations.quantile(quantile.share)));
  }
  return text + fmt::format(",\"max\":{}}}", ns_or_null(durations.quantile(1)));
}

// [first nanosecond, last nanosecond, calls] of those with calls.
std::string buckets_json(const Durations& durations) {
  std::string text;
  for (std::size_t bucket = 0; bucket < durations.buckets().size(); ++bucket) {
    const std::uint64_t calls = durations.buckets()[bucket];
    if (calls == 0) continue;
    text += fmt::format("{}[{},{},{}]", text.empty() ? "[" : ",", bucket_begin(bucket),
                        bucket_begin(bucket + 1) - 1, calls);
  }
  return text.empty() ? "[]" : text + "]";
}

std::string mode_json(const tracing::Mode& mode) {
  return fmt::format("{{\"ns\":{},\"share\":{:.6f}}}", mode.peak.count(), mode.share);
}

// Those of one function; without parts.
std::string thread_json(const FunctionLatency& thread) {
  const std::string_view name = thread.name;
  return fmt::format(
      "{{\"tid\":{},\"thread\":{},\"calls\":{},\"exceptions\":{},\"sum_ns\":{},"
      "\"mean_ns\":{},\"quantiles_ns\":{}}}",
      thread.tid, json_string(name.substr(2, name.rfind(' ') - 2)), thread.durations.calls(),
      thread.durations.totals().exceptions, thread.durations.totals().sum.count(),
      ns_or_null(thread.durations.mean()), quantiles_json(thread.durations));
}

std::string function_json(const FunctionLatency& function) {
  const Durations& durations = function.durations;
  const Durations::Totals& totals = durations.totals();
  exporters::StringSink out;
  out.write(fmt::format("{{\"function\":{},\"file\":{},\"traced_ns\":{},\"detached\":{},",
                        json_string(function.name), json_string(function.module),
                        function.traced.count(),
                        function.end.empty() ? "null" : json_string(function.end)));
  out.write(
      fmt::format("\"calls\":{},\"exceptions\":{},\"not_measured\":{},\"open\":{},\"sum_ns\":{},"
                  "\"mean_ns\":{},",
                  durations.calls(), totals.exceptions, totals.untraced, function.open,
                  totals.sum.count(), ns_or_null(durations.mean())));
  out.write(fmt::format("\"quantiles_ns\":{},", quantiles_json(durations)));
  exporters::write_json_array(out, "modes", tracing::find_modes(durations), mode_json);
  out.write(fmt::format(",\"elsewhere\":{},", function.elsewhere));
  exporters::write_json_array(out, "threads", function.threads, thread_json);
  out.write(fmt::format(",\"buckets\":{}}}", buckets_json(durations)));
  return std::move(out.text);
}

}  // namespace

std::string format_latency_json(const LatencyReport& report) {
  exporters::StringSink out;
  out.write(fmt::format("{{\"version\":\"{}\",\"pid\":{},\"command\":{},\"final\":{},",
                        SWIPR_VERSION, report.pid.value, json_string(report.command),
                        report.is_final));
  out.write(fmt::format("\"relative_error\":{},", tracing::kRelativeError));
  exporters::write_json_array(out, "notes", report.notes, json_string);
  out.write(",");
  exporters::write_json_array(out, "functions", report.functions, function_json);
  out.write("}\n");
  return std::move(out.text);
}

}  // namespace swipr::commands
