#include "cli/session/find/silence.h"

#include <fmt/format.h>

#include <charconv>

#include "cli/session/launch/program.h"
#include "common/host/proc.h"

namespace swipr::session {

namespace {

// The standard streams and the descriptors that a recording with one client needs. RLIMIT_NOFILE
// limits descriptor numbers, and the control thread's table starts with the program's first
// three.
constexpr std::uint64_t kEnoughFiles = 16;

}  // namespace

std::optional<std::uint64_t> parse_open_file_limit(std::string_view limits) {
  constexpr std::string_view kName = "Max open files";
  const std::size_t at = limits.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = limits.substr(at + kName.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  std::uint64_t limit = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), limit);
  return error == std::errc() ? std::optional(limit) : std::nullopt;
}

std::optional<std::string> find_reason_for_silence(Pid pid) {
  const auto status = host::read_process_status(pid);
  if (status && (status->state == 'T' || status->state == 't')) {
    return fmt::format(
        "is stopped (by SIGSTOP, Ctrl-Z or a debugger) and cannot answer: kill -CONT {} continues "
        "it",
        pid.value);
  }
  const auto limits = host::read_file(host::proc_path(pid, "limits"));
  const auto files = limits ? parse_open_file_limit(*limits) : std::nullopt;
  if (files && *files < kEnoughFiles) {
    return fmt::format(
        "may open only {} files (RLIMIT_NOFILE), too few for swipr's socket: raise the limit "
        "(ulimit -n) to {} or more before it starts",
        *files, kEnoughFiles);
  }
  return std::nullopt;
}

}  // namespace swipr::session
