#include "cli/commands/latency/slow_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/export/text/json_text.h"
#include "cli/trace/argument_values.h"
#include "common/host/text/clean_text.h"

namespace swipr::commands {

namespace {

using exporters::json_string;
using symbolize::Value;
using symbolize::ValueKind;

std::string frame_json(const tracing::CallerFrame& frame) {
  return fmt::format("{{\"function\":{},\"file\":{},\"line\":{},\"inlined\":{}}}",
                     json_string(frame.function),
                     frame.file.empty() ? "null" : json_string(frame.file),
                     frame.file.empty() ? "null" : std::to_string(frame.line), frame.inlined);
}

std::string hex(std::uint64_t value) { return fmt::format("\"0x{:x}\"", value); }

std::string value_json(const Value& value, const tracing::CallValues& values);

std::string members_json(const Value& value, const tracing::CallValues& values) {
  std::string text;
  for (const Value& member : value.members) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", json_string(member.name),
                        value_json(member, values));
  }
  return value.members.empty() && !tracing::is_empty(value) ? "null" : "{" + text + "}";
}

// Numbers that are not exact in a double are decimal text.
std::string number_json(const Value& value, std::uint64_t number) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
  const bool is_signed = tracing::has_sign(value);
  const std::string text =
      is_signed ? std::to_string(static_cast<std::int64_t>(number)) : std::to_string(number);
  const bool is_exact = is_signed ? number + kExact <= 2 * kExact : number <= kExact;
  return is_exact ? text : "\"" + text + "\"";
}

std::string value_json(const Value& value, const tracing::CallValues& values) {
  if (value.kind == ValueKind::kRecord) return members_json(value, values);
  const auto bits = values.bits_of(value);
  if (!bits || value.kind == ValueKind::kUnknown || value.kind == ValueKind::kVoid) return "null";
  if (bits->high != 0) return fmt::format("\"0x{:x}{:016x}\"", bits->high, bits->low);
  const std::uint64_t number = values.extended(value, *bits);
  if (value.kind == ValueKind::kPointer) return hex(number);
  if (value.kind == ValueKind::kBoolean && number <= 1) return number == 1 ? "true" : "false";
  return number_json(value, number);
}

std::string typed_json(const Value& value, const tracing::CallValues& values) {
  std::string text = fmt::format("{{\"name\":{},\"type\":{},\"value\":{}",
                                 value.name.empty() ? "null" : json_string(value.name),
                                 json_string(value.type), value_json(value, values));
  const auto bits = value.kind == ValueKind::kEnumeration ? values.bits_of(value) : std::nullopt;
  if (const std::string* name = bits ? tracing::enumerator_of(value, *bits) : nullptr) {
    text += fmt::format(",\"enumerator\":{}", json_string(*name));
  }
  if (const wire::SlowString* string = values.string_of(value)) {
    const bool cut = tracing::is_cut(*string);
    text +=
        fmt::format(",\"string\":\"{}\",\"cut\":{}",
                    host::escape_text(cut ? host::whole_characters(string->text()) : string->text(),
                                      host::Literal::kJson),
                    cut);
  }
  return text + "}";
}

// `"parameters":[…],"return":{…}`; null: their types are not known.
std::string values_json(const tracing::NamedSlowCall& call, bool has_result) {
  if (call.signature == nullptr) return R"("parameters":null,"return":null)";
  const auto arguments = tracing::CallValues::arguments_of(call.record);
  const auto result = tracing::CallValues::result_of(call.record);
  exporters::StringSink out;
  const auto& all = call.signature->parameters;
  exporters::write_json_array(
      out, "parameters", std::span(all).first(std::min(call.argument_count, all.size())),
      [&arguments](const Value& value) { return typed_json(value, arguments); });
  return std::move(out.text) +
         ",\"return\":" + (has_result ? typed_json(call.signature->result, result) : "null");
}

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
  const bool has_result = (record.flags & wire::kSlowUnwound) == 0;
  out.write(fmt::format("\"result\":{},", has_result ? hex(record.result) : "null"));
  out.write(values_json(call, has_result) + ",");
  const std::span<const std::uint64_t> shown(
      record.arguments.data(), std::min(call.argument_count, record.arguments.size()));
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
