#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
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
  swipr convert app.swipr --explain                         list missing debug files
  swipr convert app.swipr --format pprof -o app.pb.gz && go tool pprof -top app.pb.gz
)";

}  // namespace

void ConvertParser::add_to(CLI::App& parent) {
  app =
      parent.add_subcommand("convert", "Convert a recording to an HTML page, pprof, perf script …");
  app->formatter(with_usage("convert [INPUT…|-] --format FORMAT | -o FILE  [OPTION…]"));
  app->footer(std::string(kConvertFooter));
  app->add_option("input", options.inputs, "Recordings to merge (default and -: standard input)")
      ->type_name("INPUT…");
  app->add_option("-o,--output", options.output, "Write to FILE (default and -: standard output)")
      ->type_name("FILE");
  add_format(*app, options.format, parse_target_format,
             "html, pprof, speedscope, firefox, perf, collapsed or col; optional if FILE ends in "
             ".html, .pb.gz, .speedscope.json, .firefox.json.gz, .perf, .collapsed, .folded or "
             ".col");
  app->add_option_function<std::string>("--weight", store(options.weight, parse_weight),
                                        "Weight of a stack: samples (default; html, pprof: cpu; "
                                        "speedscope: wall), cpu, wall, blocked, runqueue")
      ->type_name("WEIGHT");
  add_filters(*app, options.filters);
  app->add_option("--diff", options.base,
                  "Compare with this recording: html shows differences in red and blue, pprof and "
                  "collapsed contain both")
      ->type_name("BASE");
  app->add_flag("--invert", options.invert,
                "html, collapsed, speedscope: innermost functions first, callers below them");
  app->add_option_function<std::string>(
         "--state-frames", store(options.state_frames, parse_state_frames),
         "on, off: add the state or wait of a thread as the innermost frame, such as [epoll_wait] "
         "(default: off for collapsed and pprof)")
      ->type_name("on|off");
  app->add_flag("--frame-kinds", options.frame_kinds,
                "collapsed: mark frames by language, as in \"run (app.py)_[p]\"");
  app->add_option_function<std::string>(
         "--pprof-labels", store(options.pprof_labels, parse_pprof_labels),
         "Labels of samples: all (default), own (those that the program has set), thread, none; "
         "stores such as Pyroscope create a series for each distinct set")
      ->type_name("LABELS");
  add_symbol_options(*app, options.symbols);
  app->add_flag("--explain", options.explain,
                "Print the source of each module's names and what is missing, without converting");
  app->add_flag("--file-lines", options.file_lines,
                "perf: print file and line below each frame; html: add the text of sampled lines");
}

ParseResult ConvertParser::finish() {
  if (!options.explain && app->count("--format") == 0) {
    if (options.output == "-") {
      return UsageError{"convert: --format is required unless -o FILE has a suffix such as .html"};
    }
    const auto format = find_format_of_file(options.output);
    if (!format) return UsageError{"convert: " + format.error().message()};
    options.format = *format;
  }
  const bool is_html = options.format == Format::kHtml;
  const bool is_collapsed = options.format == Format::kCollapsed;
  if (!options.base.empty() && !is_html && !is_collapsed && options.format != Format::kPprof) {
    return UsageError{"convert: --diff requires --format html, pprof or collapsed"};
  }
  if (options.invert && !is_html && !is_collapsed && options.format != Format::kSpeedscope) {
    return UsageError{"convert: --invert requires --format html, collapsed or speedscope"};
  }
  if (options.pprof_labels != PprofLabels::kAll &&
      (options.format != Format::kPprof || !options.base.empty())) {
    return UsageError{"convert: --pprof-labels requires --format pprof, without --diff"};
  }
  const auto& samples = options.filters.samples;
  if (samples.from && samples.to && *samples.from >= *samples.to) {
    return UsageError{"convert: --from must be before --to"};
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
