#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parser_support.h"
#include "cli/options/parsers.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kConvertFooter = R"(
Reads .swipr files and the text recordings of Swift Profile Recorder.

Examples:
  swipr convert app.swipr -o app.html
  swipr convert app.swipr --format firefox -o app.json.gz   for profiler.firefox.com
  swipr convert --format perf < app.swipr > app.perf
  swipr convert after.swipr --diff before.swipr --format html -o diff.html
  swipr convert app.swipr --format pprof --thread 'worker*' --from 2s --to 5s -o part.pb.gz
  swipr convert app.swipr --format collapsed --weight cpu | flamegraph.pl > app.svg
  swipr convert app.swipr --format collapsed --state blocked --weight blocked --state-frames on
  swipr convert app.swipr --explain                         which debug files would help
  swipr convert app.swipr --format pprof -o app.pb.gz && go tool pprof -top app.pb.gz
)";

}  // namespace

void ConvertParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("convert",
                              "Turn a recording into a page for the browser, pprof, perf script …");
  app->formatter(with_usage("convert [INPUT…|-] --format FORMAT | -o FILE  [OPTION…]"));
  app->footer(std::string(kConvertFooter));
  app->add_option("input", options.inputs, "Recordings, merged; - or nothing is standard input")
      ->type_name("INPUT…");
  app->add_option("-o,--output", options.output, "Write to FILE; - or nothing is standard output")
      ->type_name("FILE");
  add_format(
      *app, options.format, parse_target_format,
      "html, pprof, speedscope, firefox, perf or collapsed; not needed where the end of FILE "
      "tells: .html, .pb.gz, .speedscope.json, .firefox.json.gz, .perf, .collapsed, .folded");
  app->add_option_function<std::string>("--weight", store(options.weight, parse_weight),
                                        "What counts: samples (default; html, pprof: cpu; "
                                        "speedscope: wall), cpu, wall, blocked, runqueue")
      ->type_name("WEIGHT");
  add_filters(*app, options.filters);
  app->add_option(
         "--diff", options.base,
         "Compare with this recording: html in red and blue, pprof and collapsed with both")
      ->type_name("BASE");
  app->add_flag("--invert", options.invert,
                "html, collapsed, speedscope: innermost functions first, callers below them");
  app->add_option_function<std::string>(
         "--state-frames", store(options.state_frames, parse_state_frames),
         "on, off: show what a thread waits in as the innermost frame, such as [epoll_wait] "
         "(default: off for collapsed and pprof)")
      ->type_name("on|off");
  add_symbol_options(*app, options.symbols);
  app->add_flag("--explain", options.explain,
                "Convert nothing; print where each module's names come from and what is missing");
  app->add_flag("--file-lines", options.file_lines, "perf: print file and line below each frame");
}

ParseResult ConvertParser::finish() {
  if (!options.explain && app->count("--format") == 0) {
    if (options.output == "-") {
      return UsageError{"convert: --format is required, or -o FILE with an end such as .html"};
    }
    const auto format = find_format_of_file(options.output);
    if (!format) return UsageError{"convert: " + format.error().message()};
    options.format = *format;
  }
  const bool is_html = options.format == Format::kHtml;
  const bool is_collapsed = options.format == Format::kCollapsed;
  if (!options.base.empty() && !is_html && !is_collapsed && options.format != Format::kPprof) {
    return UsageError{"convert: --diff goes with --format html, pprof or collapsed"};
  }
  if (options.invert && !is_html && !is_collapsed && options.format != Format::kSpeedscope) {
    return UsageError{"convert: --invert goes with --format html, collapsed or speedscope"};
  }
  const auto& samples = options.filters.samples;
  if (samples.from && samples.to && *samples.from >= *samples.to) {
    return UsageError{"convert: --from must be before --to"};
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
