#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"

namespace swipr::options {

namespace {

constexpr std::string_view kPushFooter = R"(
URL is pyroscope+http://HOST:4040, parca+https://HOST:7070, otlp+http://HOST:4318 (OpenTelemetry) or
gprofiler+https://HOST. The token is read from --token-file, $SWIPR_PUSH_TOKEN or the password in the
URL; if the URL contains a user name, it is the password of that user.

Examples:
  swipr push app.swipr pyroscope+http://localhost:4040 --service-name shop --label region=eu
  swipr push cpu.pb.gz parca+https://parca.example.com --token-file token
  swipr push profile.col gprofiler+https://studio.example.com --token-file key
)";

}  // namespace

void PushParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("push", "Send recordings and profiles to a store of profiles");
  app->formatter(with_usage("push FILE… URL [OPTION…]"));
  app->footer(std::string(kPushFooter));
  app->add_option("input", options.inputs,
                  "Recordings, pprof files or .col files, and the URL of the store")
      ->type_name("FILE… URL");
  app->add_option("--service-name", options.service,
                  "Name of the service (default: the recorded program)")
      ->type_name("NAME");
  app->add_option("--label", options.labels, "Label of the profile (repeatable)")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app->add_option("--thread-labels", options.thread_labels,
                  "Send these labels of threads (swipr.h), such as endpoint, with the samples; "
                  "stores create a series for each value")
      ->type_name("KEY[,KEY]")
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option("--token-file", options.token_file,
                  "Read the token or key for the store from FILE")
      ->type_name("FILE");
  app->add_option("--ca-file", options.ca_file,
                  "Trust the authorities in FILE (PEM), not the system's")
      ->type_name("FILE");
  app->add_option("--tenant", options.tenant, "Tenant of the store (X-Scope-OrgID)")
      ->type_name("NAME");
  add_symbol_options(*app, options.symbols);
}

ParseResult PushParser::finish() {
  if (options.inputs.size() < 2) {
    return UsageError{"push: one or more files and the URL of a store are required"};
  }
  options.url = std::move(options.inputs.back());
  options.inputs.pop_back();
  for (const std::string& label : options.labels) {
    const std::size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return UsageError{"push: --label '" + label + "' is not NAME=VALUE"};
    }
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
