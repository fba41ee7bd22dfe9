#include "preload/agent/guest/settings.h"

#include <signal.h>

#include <charconv>
#include <cstring>

#include "preload/agent/base/text/glob.h"
#include "preload/agent/base/text/text_view.h"

namespace swipr::agent {

namespace {

using namespace std::string_view_literals;

class Arena {
 public:
  explicit Arena(std::span<char> memory) noexcept : memory_(memory) {}

  std::string_view copy(std::string_view text) noexcept {
    if (text.empty() || text.size() + 1 > memory_.size() - used_) return {};
    char* start = memory_.data() + used_;
    std::memcpy(start, text.data(), text.size());
    start[text.size()] = '\0';
    used_ += text.size() + 1;
    return {start, text.size()};
  }

 private:
  std::span<char> memory_;
  std::size_t used_ = 0;
};

struct Variable {
  std::string_view name;
  std::string_view value;
};

Variable split(std::string_view entry) noexcept {
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return {};
  return {leading(entry, equals), skip(entry, equals + 1)};
}

bool is_on(std::string_view value) noexcept { return !value.empty() && value != "0"sv; }

// 0: not a number, or a signal that cannot be caught, that libc uses (32 and 33), or that faults
// raise.
int parse_signal(std::string_view text) noexcept {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 1 || number > 64) return 0;
  for (int reserved : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, 32, 33}) {
    if (number == reserved) return 0;
  }
  return number;
}

std::string_view find_value(const char* const* environment, std::string_view name) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const Variable variable = split(*environment);
    if (variable.name == name) return variable.value;
  }
  return {};
}

// The forerunner's names keep working; swipr's own come first.
std::string_view find_server_url(const char* const* environment) noexcept {
  constexpr std::string_view kNames[] = {"SWIPR_SERVER_URL", "SWIPR_SERVER_URL_PATTERN",
                                         "PROFILE_RECORDER_SERVER_URL",
                                         "PROFILE_RECORDER_SERVER_URL_PATTERN"};
  for (std::string_view name : kNames) {
    const std::string_view value = find_value(environment, name);
    if (!value.empty()) return value;
  }
  return {};
}

// "service.name" of "key=value,key=value". Source: OpenTelemetry, Resource SDK, environment
// variable.
std::string_view find_service_attribute(std::string_view attributes) noexcept {
  while (!attributes.empty()) {
    const std::size_t comma = attributes.find(',');
    const Variable entry = split(leading(attributes, comma));
    if (entry.name == "service.name"sv) return entry.value;
    if (comma == std::string_view::npos) break;
    attributes.remove_prefix(comma + 1);
  }
  return {};
}

std::string_view find_service(const char* const* environment) noexcept {
  for (std::string_view name : {"SWIPR_SERVICE_NAME"sv, "OTEL_SERVICE_NAME"sv}) {
    const std::string_view value = find_value(environment, name);
    if (!value.empty()) return value;
  }
  return find_service_attribute(find_value(environment, "OTEL_RESOURCE_ATTRIBUTES"));
}

// Variables that a helper needs to find debug files and to write UTF-8; none that may hold secrets.
bool is_for_helper(std::string_view name) noexcept {
  constexpr std::string_view kNames[] = {"PATH", "HOME", "LANG", "TMPDIR", "DEBUGINFOD_URLS"};
  for (std::string_view wanted : kNames) {
    if (name == wanted) return true;
  }
  return name.starts_with("XDG_") || name.starts_with("LC_");
}

void copy_helper_environment(const char* const* environment, Arena& arena,
                             Settings& settings) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (settings.helper_variable_count == Settings::kMaxHelperVariables) return;
    if (!is_for_helper(split(*environment).name)) continue;
    const std::string_view copy = arena.copy(*environment);
    if (!copy.empty()) settings.helper_environment[settings.helper_variable_count++] = copy;
  }
}

}  // namespace

Settings parse_settings(const char* const* environment, std::span<char> memory,
                        std::string_view first_argument) noexcept {
  Arena arena(memory);
  const auto copy_of = [&](std::string_view name) {
    return arena.copy(find_value(environment, name));
  };
  Settings settings;
  settings.disabled = is_on(find_value(environment, "SWIPR_DISABLE"));
  settings.allow_remote = is_on(find_value(environment, "SWIPR_SERVER_ALLOW_REMOTE"));
  settings.signal_free = find_value(environment, "SWIPR_SIGNAL_FREE") != "off"sv;
  const std::string_view runtimes = find_value(environment, "SWIPR_RUNTIMES");
  settings.runtimes = runtimes != "off"sv && runtimes != "0"sv;
  const std::string_view trace = find_value(environment, "SWIPR_TRACE");
  settings.trace = trace != "off"sv && trace != "0"sv;
  settings.signal_number = parse_signal(find_value(environment, "SWIPR_SIGNAL"));
  settings.only = copy_of("SWIPR_ONLY");
  settings.log = copy_of("SWIPR_LOG");
  settings.log_level = copy_of("SWIPR_LOG_LEVEL");
  settings.socket_directory = copy_of("SWIPR_SOCKET_DIR");
  settings.runtime_directory = copy_of("XDG_RUNTIME_DIR");
  if (find_value(environment, "SWIPR_CACHE") != "off"sv) {
    settings.cache_home = copy_of("XDG_CACHE_HOME");
    settings.home = copy_of("HOME");
  }
  settings.server_url = arena.copy(find_server_url(environment));
  settings.server_token = copy_of("SWIPR_SERVER_TOKEN");
  settings.rendezvous = copy_of("SWIPR_RENDEZVOUS");
  settings.record_path = copy_of("SWIPR_RECORD");
  settings.record_interval = copy_of("SWIPR_RECORD_INTERVAL");
  settings.record_mode = copy_of("SWIPR_RECORD_MODE");
  settings.record_jitter = find_value(environment, "SWIPR_RECORD_JITTER") != "off"sv;
  settings.record_arguments = find_value(environment, "SWIPR_RECORD_ARGUMENTS") != "off"sv;
  const std::string_view unwinder = find_value(environment, "SWIPR_UNWINDER");
  if (!find_unwinder(unwinder, settings.unwinder)) settings.unknown_unwinder = arena.copy(unwinder);
  settings.labels = copy_of("SWIPR_LABELS");
  settings.resource_attributes = copy_of("OTEL_RESOURCE_ATTRIBUTES");
  settings.service = arena.copy(find_service(environment));
  settings.first_argument = arena.copy(first_argument);
  settings.swipr_program = copy_of("SWIPR_PROGRAM");
  settings.search_path = copy_of("PATH");
  copy_helper_environment(environment, arena, settings);
  return settings;
}

bool is_asleep(const Settings& settings, std::span<const std::string_view> program_names) noexcept {
  if (settings.disabled) return true;
  if (settings.only.empty()) return false;
  for (std::string_view name : program_names) {
    if (!name.empty() && matches_any_glob(settings.only, name)) return false;
  }
  return true;
}

}  // namespace swipr::agent
