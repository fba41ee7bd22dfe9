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

}  // namespace swipr::options
