// The agent's settings from the environment. Copied at start, because programs overwrite their
// environment (setproctitle) and setenv moves it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "preload/agent/base/unwinder_choice.h"

namespace swipr::agent {

// Strings are NUL-terminated; empty: not set.
struct Settings {
  bool disabled = false;       // SWIPR_DISABLE
  int signal_number = 0;       // SWIPR_SIGNAL; 0: not set, or not usable
  bool signal_free = true;     // SWIPR_SIGNAL_FREE=off: blocked threads have no stacks
  bool runtimes = true;        // SWIPR_RUNTIMES=off or 0: frames of Python … are not read
  bool trace = true;           // SWIPR_TRACE=off or 0: no function is traced
  bool allow_remote = false;   // SWIPR_SERVER_ALLOW_REMOTE
  std::string_view only;       // SWIPR_ONLY: globs on the program's name
  std::string_view log;        // SWIPR_LOG: stderr, or a file to append to
  std::string_view log_level;  // SWIPR_LOG_LEVEL
  std::string_view socket_directory;
  std::string_view runtime_directory;  // XDG_RUNTIME_DIR
  std::string_view cache_home;         // XDG_CACHE_HOME; both empty with SWIPR_CACHE=off
  std::string_view home;               // HOME
  std::string_view server_url;         // SWIPR_SERVER_URL or its pattern form
  std::string_view server_token;       // SWIPR_SERVER_TOKEN: required from TCP clients
  std::string_view rendezvous;
  std::string_view record_path;      // SWIPR_RECORD
  std::string_view record_interval;  // SWIPR_RECORD_INTERVAL
  std::string_view record_mode;      // SWIPR_RECORD_MODE
  bool record_jitter = true;         // SWIPR_RECORD_JITTER=off: ticks on a fixed grid
  bool record_arguments = true;      // SWIPR_RECORD_ARGUMENTS=off: without the command line
  UnwinderChoice unwinder = UnwinderChoice::kSwipr;  // SWIPR_UNWINDER
  std::string_view unknown_unwinder;                 // its value if that is not an unwinder
  std::string_view service;  // SWIPR_SERVICE_NAME, OTEL_SERVICE_NAME, or that of the attributes
  std::string_view labels;   // SWIPR_LABELS
  std::string_view resource_attributes;  // OTEL_RESOURCE_ATTRIBUTES
  std::string_view first_argument;       // argv[0], which setproctitle overwrites
  std::string_view swipr_program;
  std::string_view search_path;  // PATH

  // NAME=VALUE, each with its NUL: the environment of the helper process.
  static constexpr std::size_t kMaxHelperVariables = 32;
  std::string_view helper_environment[kMaxHelperVariables];
  std::size_t helper_variable_count = 0;
};

inline constexpr std::size_t kSettingsArenaBytes = 32768;

// Strings that do not fit into `arena` count as not set. `environment`: as given to main, ends with
// a null pointer; may be null.
Settings parse_settings(const char* const* environment, std::span<char> arena,
                        std::string_view first_argument = {}) noexcept;

// Whether swipr is disabled in a program with these names (SWIPR_DISABLE, SWIPR_ONLY).
bool is_asleep(const Settings& settings, std::span<const std::string_view> program_names) noexcept;

}  // namespace swipr::agent
