#include "cli/commands/agent/agent_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "cli/commands/output/terminal.h"
#include "cli/export/formats/col_header.h"
#include "common/host/text/clean_text.h"

namespace swipr::commands {

namespace {
// A full file becomes PATH.1.
constexpr std::uint64_t kMaxLogBytes = std::uint64_t{5} << 20;
}  // namespace

host::Result<AgentLog> AgentLog::open(const std::string& path) {
  AgentLog log(path);
  if (!path.empty()) {
    if (auto opened = log.open_file(); !opened) return opened.error();
  }
  return log;
}

host::Result<void> AgentLog::open_file() {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  file_ = host::UniqueFd(::open(path_.c_str(), kFlags, 0600));
  struct stat info {};
  if (!file_ || ::fstat(file_.value(), &info) != 0) {
    return host::system_error(fmt::format("cannot write {}", path_), errno);
  }
  bytes_ = static_cast<std::uint64_t>(info.st_size);
  return {};
}

void AgentLog::say(std::string_view text) {
  if (path_.empty()) return print_note(text);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string line = fmt::format("{} {}\n", exporters::iso_time(now), host::clean_text(text));
  if (bytes_ + line.size() > kMaxLogBytes) {
    ::rename(path_.c_str(), (path_ + ".1").c_str());
    static_cast<void>(open_file());
  }
  // A full disk must not end the agent.
  if (::write(file_.value(), line.data(), line.size()) > 0) bytes_ += line.size();
}

}  // namespace swipr::commands
