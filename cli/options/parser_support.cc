#include "cli/options/parser_support.h"

#include "cli/options/values.h"

namespace swipr::options {

namespace {

// The library's own usage line lists neither the positional arguments nor "-- CMD" well.
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

CLI::Option* add_format(CLI::App& app, Format& format, const std::string& help) {
  return app.add_option_function<std::string>("--format", store(format, parse_format), help)
      ->type_name("FORMAT");
}

CLI::Option* add_states(CLI::App& app, profile::StateSet& states) {
  return app
      .add_option_function<std::string>(
          "--state", store(states, parse_states),
          "Only samples of threads that were running, runnable (waiting for a CPU), blocked")
      ->type_name("STATE[,STATE]");
}

void add_symbol_options(CLI::App& app, SymbolOptions& symbols) {
  app.add_flag_callback(
      "--no-demangle", [&symbols] { symbols.demangle = false; },
      "Keep names as in the symbol table (for | swift demangle)");
  app.add_flag_callback(
      "--no-inlines", [&symbols] { symbols.inlines = false; }, "Leave inlined functions out");
  app.add_flag("--short-names", symbols.short_names,
               "Names without template arguments, parameters and return types");
  app.add_option("--debug-dir", symbols.debug_directories,
                 "Look for separate debug files here, too (repeatable)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--symfs", symbols.symfs,
                 "Look for the recorded files below DIR, the root of the system they come from")
      ->type_name("DIR");
}

}  // namespace swipr::options
