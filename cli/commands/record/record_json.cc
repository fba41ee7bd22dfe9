#include "cli/commands/record/record_json.h"

#include <fmt/format.h>

#include "cli/export/text/json_text.h"

namespace swipr::commands {

namespace {

std::string text_or_null(const std::string& text) {
  return text.empty() ? "null" : exporters::json_string(text);
}

std::string unrecorded_json(const session::Unrecorded& process) {
  return fmt::format(R"({{"pid":{},"name":{},"reason":{},"cpu_ns":{}}})", process.pid.value,
                     exporters::json_string(process.name), exporters::json_string(process.reason),
                     process.cpu.count());
}

}  // namespace

std::string format_record_json(const options::RecordOptions& options, const RecordReport& report,
                               const Outcome& outcome) {
  const session::SessionTotals& totals = report.totals;
  exporters::StringSink out;
  out.write(fmt::format("{{\"version\":\"{}\",\n", SWIPR_VERSION));
  out.write(fmt::format("\"exit_code\":{},\"error\":{},\n", outcome.exit_code(),
                        text_or_null(outcome.message())));
  exporters::write_json_array(out, "errors", report.errors, exporters::json_string);
  out.write(fmt::format(",\n\"output\":{},\"raw_bytes\":{},\"interval_ns\":{},\n",
                        text_or_null(report.output), report.raw_bytes, options.interval.count()));
  out.write(fmt::format("\"processes\":{},\"threads\":{},\n", totals.processes, totals.threads));
  out.write(
      fmt::format("\"ticks_asked\":{},\"ticks\":{},\"ticks_missed\":{},\"ticks_stretched\":{},\n",
                  totals.ticks_asked, totals.ticks, totals.ticks_missed, totals.ticks_stretched));
  out.write(fmt::format("\"samples\":{},\"samples_dropped\":{},\"samples_without_stack\":{},\n",
                        totals.samples, totals.dropped, totals.stacks_missing));
  out.write(fmt::format("\"stacks_walked\":{},\"stacks_complete\":{},\n", totals.stacks_walked,
                        totals.stacks_rooted));
  out.write(fmt::format("\"command_cpu_ns\":{},\"sampled_cpu_ns\":{},\"agent_cpu_ns\":{},\n",
                        report.command_cpu ? std::to_string(report.command_cpu->count()) : "null",
                        totals.sampled_cpu.count(), totals.agent_cpu.count()));
  exporters::write_json_array(out, "unrecorded", report.unrecorded, unrecorded_json);
  out.write("}\n");
  return std::move(out.text);
}

}  // namespace swipr::commands
