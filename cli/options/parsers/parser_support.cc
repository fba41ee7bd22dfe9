#include "cli/options/parsers/parser_support.h"

#include <vector>

#include "cli/options/split_value.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

// Replaces CLI11's usage line, which does not show "-- CMD".
class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(std::string usage) : usage_(std::move(usage)) { column_width(26); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: swipr " + usage_ + "\n";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() == 0 ? "" : " " + option->get_type_name();
  }

 private:
  std::string usage_;
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> with_usage(std::string usage) {
  return std::make_shared<Formatter>(std::move(usage));
}

CLI::Option* add_format(CLI::App& app, Format& format, ParseFormat parse, const std::string& help) {
  return app.add_option_function<std::string>("--format", store(format, parse), help)
      ->type_name("FORMAT");
}

void add_filters(CLI::App& app, FilterOptions& filters) {
  app.add_option("--thread", filters.samples.threads,
                 "Only threads of this name (a shell pattern) or tid (repeatable)")
      ->type_name("NAME|TID")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--state", store(filters.samples.states, parse_states),
         "Only samples of threads that were running, runnable (waiting for a CPU) or blocked")
      ->type_name("STATE[,STATE]");
  app.add_option_function<std::vector<std::string>>(
         "--label",
         [&filters](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             store(filters.samples.labels.emplace_back(), parse_label_pattern)(text);
           }
         },
         "Only samples of threads with this label of swipr.h (a shell pattern, repeatable; KEY=: "
         "without one)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option_function<std::string>("--from", store(filters.samples.from, parse_moment),
                                       "Only after this time from the start of the recording")
      ->type_name("TIME");
  app.add_option_function<std::string>("--to", store(filters.samples.to, parse_moment),
                                       "Only before this time from the start of the recording")
      ->type_name("TIME");
  app.add_option("--only", filters.only, "Only stacks with a matching function")
      ->type_name("REGEX");
  app.add_option("--hide", filters.hide, "Remove matching functions from the stacks")
      ->type_name("REGEX");
  app.add_option("--focus", filters.focus,
                 "Only stacks with a match, starting at the outermost match")
      ->type_name("REGEX");
  app.add_option_function<std::string>("--frames", store(filters.frames, parse_frame_kinds),
                                       "mixed (default); language: hide native frames in stacks "
                                       "of Python, Java …; native: hide frames of languages")
      ->type_name("KINDS");
  app.add_option_function<std::vector<std::string>>(
         "--split",
         [&filters](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             store(filters.splits.emplace_back(), parse_split)(text);
           }
         },
         "Of recordings by trace: only inside calls of FUNCTION that took longer than a duration, "
         "or a quantile of all calls (repeatable)")
      ->type_name("[FUNCTION:]p95|TIME[:slow|normal|difference]")
      ->allow_extra_args(false);
  app.add_flag("--merge-threads", filters.merge_threads, "Merge all threads of a process into one");
}

void add_symbol_options(CLI::App& app, SymbolOptions& symbols) {
  app.add_flag_callback(
      "--no-demangle", [&symbols] { symbols.demangle = false; },
      "Keep names as in the symbol table (for | swift demangle)");
  app.add_flag_callback(
      "--no-inlines", [&symbols] { symbols.inlines = false; }, "Omit inlined functions");
  app.add_flag("--short-names", symbols.short_names,
               "Names without template arguments, parameters and return types");
  app.add_option("--debug-dir", symbols.debug_directories,
                 "Search DIR for separate debug files (repeatable)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--symfs", symbols.symfs,
                 "Search the recorded files below DIR, the root of their system")
      ->type_name("DIR");
  app.add_flag_callback(
      "--no-cache", [&symbols] { symbols.cache = false; },
      "Do not use the cache of names ($XDG_CACHE_HOME/swipr)");
}

}  // namespace swipr::options
