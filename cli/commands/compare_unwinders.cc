#include "cli/commands/compare_unwinders.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/commands/names/symbolize_recording.h"
#include "cli/commands/output/export_recording.h"
#include "cli/commands/output/terminal.h"
#include "cli/export/text/sink.h"
#include "common/host/host_facts.h"
#include "common/host/temporary_folder.h"
#include "common/host/text/clean_text.h"

namespace swipr::commands {

namespace {

constexpr std::size_t kMostLines = 14;  // of differences: with the sums they fill a small screen
constexpr std::size_t kMostName = 60;

std::string short_name(const std::string& function) {
  const std::string name = host::clean_text(function);
  return name.size() <= kMostName ? name : name.substr(0, kMostName) + "…";
}

std::string caller(const std::string& function) {
  return function.empty() ? "the stack ends" : short_name(function);
}

void add_line(std::string& out, const std::string& line, std::size_t columns) {
  out += columns == 0 || line.size() <= columns ? line : line.substr(0, columns);
  out += '\n';
}

std::string sum_line(std::string_view what, std::uint64_t count, std::uint64_t of) {
  const double percent = 100.0 * static_cast<double>(count) / static_cast<double>(of);
  return fmt::format("{:<40} {:>10} {:>6.2f} %", what, with_thousands(count), percent);
}

}  // namespace

std::string describe_comparison(const profile::UnwinderComparison& comparison,
                                std::size_t columns) {
  std::string out;
  const std::uint64_t all = comparison.compared;
  add_line(out, fmt::format("{:<40} {:>10}", "stacks walked by both", with_thousands(all)),
           columns);
  add_line(out, sum_line("the same", comparison.equal, all), columns);
  const std::pair<std::string_view, std::uint64_t> sums[] = {
      {"libunwind ends earlier", comparison.other_ends_early},
      {"swipr ends earlier", comparison.own_ends_early},
      {"the callers differ", comparison.different},
      {"different, without details", comparison.left_out}};
  for (const auto& [what, count] : sums) {
    if (count != 0) add_line(out, sum_line(what, count, all), columns);
  }
  if (comparison.differences.empty()) return out;
  add_line(out, "\nthe first caller that differs, most frequent first:", columns);
  const std::size_t shown = std::min(comparison.differences.size(), kMostLines);
  for (std::size_t at = 0; at < shown; ++at) {
    const profile::UnwinderDifference& each = comparison.differences[at];
    const std::string of = each.after.empty() ? "the innermost frame" : short_name(each.after);
    add_line(out,
             fmt::format("{:>8} of {}: swipr {}, libunwind {}", with_thousands(each.count), of,
                         caller(each.own), caller(each.other)),
             columns);
  }
  if (const std::size_t more = comparison.differences.size() - shown; more != 0) {
    add_line(out, fmt::format("{:>8} more kinds of differences", more), columns);
  }
  return out;
}

Outcome compare_unwinders_of(const std::vector<std::string>& command) {
  if (host::read_host_facts().hardware_type != "x86_64") {
    return Failure{"doctor: unwinders are compared on x86-64 only"};
  }
  const host::TemporaryFolder folder;
  if (!folder.exists()) {
    return Failure{fmt::format("doctor: cannot create a folder in {}: {}; set TMPDIR",
                               host::temporary_place(), std::strerror(errno))};
  }
  ::setenv("SWIPR_UNWINDER", "compare", 1);
  options::RecordOptions options;
  options.command = command;
  options.output = folder.path() + "/compared.swipr";
  options.is_quiet = true;
  Outcome recorded = run_record(options);
  if (recorded.failed()) return recorded;
  auto recording = load_recording(options.output);
  if (!recording) return recording.error();
  const NamedRecording named = symbolize_recording(*recording, {});
  const auto comparison = profile::compare_unwinders(*recording, named.names);
  if (comparison.compared == 0 && comparison.unwinder_is_missing) {
    return Failure{
        "doctor: libunwind cannot be loaded in the process; install libunwind8 "
        "(libunwind-x86_64.so.8)"};
  }
  if (comparison.compared == 0) {
    return Failure{
        fmt::format("doctor: no stack of `{}` was compared: it ended before the first tick "
                    "(10 ms), or could not be recorded",
                    shell_quoted(command.front()))};
  }
  exporters::Sink out(STDOUT_FILENO, "standard output");
  out.write(describe_comparison(comparison, terminal_columns(STDOUT_FILENO)));
  if (auto written = out.flush(); !written) return written.error();
  if (comparison.unwinder_is_missing) {
    print_note("libunwind could not be loaded in some of the processes; they are not compared");
  }
  return comparison.equal == comparison.compared ? kDone : kUnwindersDiffer;
}

}  // namespace swipr::commands
