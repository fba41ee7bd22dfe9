#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kAgentFooter = R"(
Records all processes that were started with the preload, as long as they run, until SIGTERM. SIGHUP
finishes the slice and reloads the configuration. The token of a store is read from --token-file,
$SWIPR_PUSH_TOKEN or the systemd credential swipr-token.

Examples:
  swipr agent --output-dir /var/lib/swipr --rotating-output
  swipr agent --push pyroscope+http://localhost:4040 --slice 15s
  swipr agent --once --slice 30s --output-dir .      one slice, for cron
)";

// "64MiB", "1GiB", "100000".
host::Result<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const unsigned shift = unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : 0;
  const bool is_unit = unit.empty() || shift != 0;
  if (error != std::errc() || !is_unit || number == 0 || number > (kLargest >> shift)) {
    return host::Error("'" + std::string(text) + "' is not a size such as 64MiB");
  }
  return number << shift;
}

// gProfiler's seconds, or a duration with a unit.
host::Result<std::chrono::nanoseconds> parse_seconds(std::string_view text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return parse_length(is_number ? std::string(text) + "s" : std::string(text));
}

bool is_label(std::string_view text) {
  const std::size_t equals = text.find('=');
  return equals != 0 && equals != std::string_view::npos;
}

}  // namespace

void AgentParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("agent", "Record all processes of this machine continuously");
  app->formatter(with_usage("agent --output-dir DIR | --push URL  [OPTION…]"));
  app->footer(std::string(kAgentFooter));
  app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_recording_options();
  add_process_options();
  add_file_options();
  add_store_options();
  add_service_options();
  app->option_defaults()->group("Names");
  add_symbol_options(*app, options.symbols);
}

void AgentParser::add_recording_options() {
  app->option_defaults()->group("Recording");
  app->add_option_function<std::string>("-f,--rate,--profiling-frequency",
                                        store(options.interval, parse_rate),
                                        "Ticks per second (default 11)")
      ->type_name("RATE");
  app->add_option_function<std::string>(
         "-d,--slice,--profiling-duration", store(options.slice, parse_seconds),
         "Length of a slice; slices are aligned to the clock (default 60s)")
      ->type_name("TIME");
  app->add_option_function<std::string>("--slices", store(options.slices, parse_count),
                                        "Stop after N slices; the first one begins at once")
      ->type_name("N");
  app->add_flag("--once", runs_once_, "The same as --slices 1");
  app->add_flag_callback(
      "-c,--continuous", [this] { options.slices = 0; }, "Run until SIGTERM (default)");
  app->add_option_function<std::string>(
         "--mode", store(options.mode, parse_mode),
         "cpu (default): time on a CPU; wall: also waiting; offcpu: only waiting")
      ->type_name("MODE");
  app->add_option_function<std::string>(
         "--max-overhead", store(options.max_overhead_permille, parse_overhead),
         "Maximum cost of recording a process, as a share of one CPU")
      ->type_name("PERCENT");
  app->add_option_function<std::string>(
         "--max-host-overhead", store(options.max_host_overhead_permille, parse_host_overhead),
         "Maximum cost of all recordings, as a share of all CPUs (default 1%)")
      ->type_name("PERCENT");
}

void AgentParser::add_process_options() {
  app->option_defaults()->group("Processes");
  app->add_option_function<std::vector<std::string>>(
         "--pids",
         [this](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             store(options.pids.emplace_back(), parse_pid)(text);
           }
         },
         "Only these processes; the agent exits after the last of them")
      ->type_name("N[,N]")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  const auto add_patterns = [this](const char* name, auto& target, const char* help) {
    app->add_option(name, target, help)
        ->type_name("GLOB[,GLOB]")
        ->delimiter(',')
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  };
  add_patterns("--include", options.only, "Only processes whose name matches (repeatable)");
  add_patterns("--exclude", options.exclude, "Not the processes whose name matches (repeatable)");
  app->add_option("--socket-dir", options.socket_folder, "Only processes with sockets in DIR")
      ->type_name("DIR");
  app->add_option("--max-processes", options.max_processes,
                  "At most N processes at a time (default 500)")
      ->type_name("N");
}

void AgentParser::add_file_options() {
  app->option_defaults()->group("Files");
  app->add_option("-o,--output-dir", options.output_folder,
                  "Write .col, .pb.gz, .html and accounts of each slice to DIR")
      ->type_name("DIR");
  app->add_flag("--rotating-output", rotates_, "Keep the files of the last slice only");
  app->add_option("--keep", options.keep, "Keep the files of the last N slices")->type_name("N");
  app->add_flag_callback(
      "--no-flamegraph", [this] { options.flamegraph = false; }, "Write no .html files");
  app->add_flag("--insert-dso-name", options.module_names,
                "Write the file of each native function into .col files");
  app->add_option("--external-metadata", options.external_metadata,
                  "Add the object static of a JSON file to the metadata of .col files")
      ->type_name("FILE");
}

void AgentParser::add_store_options() {
  app->option_defaults()->group("Stores");
  app->add_option(
         "--push", options.push.urls,
         "Push to a store, as swipr push does: pyroscope+http://HOST:4040, "
         "parca+https://HOST:7070, otlp+http://HOST:4318, gprofiler+https://HOST (repeatable)")
      ->type_name("URL")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app->add_flag("-u,--upload-results", uploads_, "Push to the studio at --server-host");
  app->add_option("--server-host", server_host_, "URL of gProfiler Performance Studio")
      ->type_name("URL");
  app->add_option("--service-name", options.push.service,
                  "Service name of all profiles (default: that of each process)")
      ->type_name("NAME");
  app->add_option("--label", options.push.labels, "Label of all profiles (repeatable)")
      ->type_name("NAME=VALUE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app->add_option("--thread-labels", options.push.thread_labels,
                  "Send these labels of threads (swipr.h), such as endpoint, with the samples; "
                  "stores create a series for each value")
      ->type_name("KEY[,KEY]")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app->add_option("--token-file", options.push.token_file, "Read the token of the stores from FILE")
      ->type_name("FILE");
  app->add_option("--ca-file", options.push.ca_file,
                  "Trust the authorities in FILE (PEM), not the system's")
      ->type_name("FILE");
  app->add_option("--tenant", options.push.tenant, "Tenant of the stores (X-Scope-OrgID)")
      ->type_name("NAME");
  app->add_option("--spool", options.spool_folder,
                  "Keep unsent requests in DIR (default: $XDG_STATE_HOME/swipr/spool)")
      ->type_name("DIR");
  app->add_option_function<std::string>(
         "--spool-size", store(options.spool_bytes, parse_size),
         "Maximum size of the unsent requests for each store (default 64MiB)")
      ->type_name("SIZE");
  app->add_flag_callback(
      "--disable-application-identifiers", [this] { options.identifies_applications = false; },
      "Do not name applications after scripts, jars and modules");
  app->add_option("--app-id-args-filter", options.argument_filters,
                  "Append Java options that match REGEX to names in .col files (repeatable)")
      ->type_name("REGEX")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  for (const char* name : {"--disable-metrics-collection", "--disable-metadata-collection"}) {
    app->add_flag_callback(
        name, [] {}, "Accepted without effect: such data is never collected");
  }
}

void AgentParser::add_service_options() {
  app->option_defaults()->group("Service");
  app->add_option("--config", config_,
                  "Read options from lines of FILE, such as rate = 11; the environment "
                  "(SWIPR_AGENT_RATE) and the command line override it")
      ->type_name("FILE");
  app->add_option("--pid-file", options.pid_file, "Write the process id to FILE")
      ->type_name("FILE");
  app->add_option("--log-file", options.log_file, "Write messages to FILE, at most 2 x 5 MiB")
      ->type_name("FILE");
  app->add_option_function<std::string>("--controller-pid", store(options.controller, parse_pid),
                                        "Exit when this process ends")
      ->type_name("N");
  app->add_option("--metrics-file", options.metrics_file,
                  "Write counters for Prometheus to FILE after each slice")
      ->type_name("FILE");
}

ParseResult AgentParser::finish() {
  using namespace std::chrono_literals;
  if (uploads_) {
    if (server_host_.empty()) return UsageError{"agent: --upload-results needs --server-host URL"};
    options.push.urls.push_back("gprofiler+" + server_host_);
  }
  if (options.output_folder.empty() && options.push.urls.empty()) {
    return UsageError{"agent: --output-dir DIR or --push URL is required"};
  }
  if (options.slice < 1s || options.slice > 1h) {
    return UsageError{"agent: --slice must be between 1s and 1h"};
  }
  if (rotates_ && options.keep == 0) options.keep = 1;
  if (runs_once_) options.slices = 1;
  for (const std::string& label : options.push.labels) {
    if (!is_label(label)) return UsageError{"agent: --label '" + label + "' is not NAME=VALUE"};
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
