#include "cli/export/report/report.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/names/symbolize_recording.h"
#include "cli/commands/output/filters.h"
#include "cli/commands/output/splits.h"
#include "cli/commands/output/terminal.h"
#include "cli/export/report/report_split.h"

namespace swipr::commands {

namespace {

// All options apply, and the last --split also compares what it separates. Its samples of slow
// calls, or of the others, are left.
host::Result<exporters::ReportSplit> compare_calls(profile::Recording& recording,
                                                   profile::Names& names,
                                                   options::FilterOptions filters,
                                                   profile::Weight weight) {
  options::SplitOption last = std::move(filters.splits.back());
  filters.splits.pop_back();
  if (last.part == options::SplitPart::kDifference) last.part = options::SplitPart::kSlow;
  if (auto kept = filter_stacks(recording, names, filters); !kept) return kept.error();
  exporters::ReportSplit result;
  {
    const auto split = find_split(recording, names, last);
    if (!split) return split.error();
    result.function = name_of(recording, names, recording.traced[split->functions().front()]);
    result.rule = last.text.substr(last.function.empty() ? 0 : last.function.size() + 1);
    result.rule = result.rule.substr(0, result.rule.find(':'));
    result.threshold = split->threshold();
    result.comparison = compare_parts(recording, names, *split, weight);
    result.locks = compare_locks(recording, names, *split, result.comparison);
  }
  if (auto applied = apply_split(recording, names, last); !applied) return applied.error();
  return result;
}

}  // namespace

Outcome run_report(const options::ReportOptions& options) {
  if (options.inputs.front() == "-" && ::isatty(STDIN_FILENO) == 1) {
    return Failure{"report: no recording on standard input; name a file, or use < FILE",
                   kWrongUsage};
  }
  end_without_reader();
  auto inputs = load_inputs(options.inputs, "", options.filters, Credit::kYes);
  if (!inputs) return inputs.error();
  profile::Recording* recording = &inputs->recording;
  NamedRecording named = symbolize_recording(*recording, options.symbols);
  exporters::ReportOptions writing;
  // Slow calls often wait.
  const bool is_split = !options.filters.splits.empty();
  const auto natural = is_split ? profile::Weight::kWall : profile::natural_weight(*recording);
  writing.weight = options.weight.value_or(natural);
  std::optional<exporters::ReportSplit> split;
  if (is_split) {
    auto compared = compare_calls(*recording, named.names, options.filters, writing.weight);
    if (!compared) return compared.error();
    writing.split = &split.emplace(*std::move(compared));
  } else if (auto kept = filter_stacks(*recording, named.names, options.filters); !kept) {
    return kept.error();
  }
  writing.row_count = options.row_count;
  writing.columns = terminal_columns(STDOUT_FILENO);
  writing.coloured = shows_colours(STDOUT_FILENO);
  exporters::Sink sink(STDOUT_FILENO, "standard output");
  const auto write = options.json ? exporters::write_report_json : exporters::write_report_text;
  if (auto written = write(*recording, named.names, writing, sink); !written)
    return written.error();
  print_notes(recording->warnings);
  print_notes(named.notes);
  return kDone;
}

}  // namespace swipr::commands
