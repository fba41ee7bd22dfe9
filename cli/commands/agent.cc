#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "cli/commands/agent/agent_log.h"
#include "cli/commands/agent/agent_loop.h"
#include "cli/commands/agent/slice_files.h"
#include "cli/commands/commands.h"
#include "cli/fleet/applications.h"
#include "cli/session/launch/signal_watch.h"
#include "common/host/proc.h"

namespace swipr::commands {

namespace {

using options::AgentOptions;

// Names the process while it runs.
class PidFile {
 public:
  explicit PidFile(const std::string& path) : path_(path) {}
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  ~PidFile() {
    if (is_written_) ::unlink(path_.c_str());
  }

  host::Result<void> write() {
    if (path_.empty()) return {};
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    const host::UniqueFd file(::open(path_.c_str(), kFlags, 0644));
    const std::string text = fmt::format("{}\n", ::getpid());
    if (!file || ::write(file.value(), text.data(), text.size()) < 0) {
      return host::system_error(fmt::format("cannot write {}", path_), errno);
    }
    is_written_ = true;
    return {};
  }

 private:
  const std::string& path_;
  bool is_written_ = false;
};

// Reads the configuration again by starting anew, with the same process id and arguments.
host::Error restart() {
  std::vector<std::string> arguments = host::read_command_line(Pid{::getpid()});
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv("/proc/self/exe", pointers.data());
  return host::system_error("cannot start again", errno);
}

host::Result<AgentLoop::End> run_loop(const AgentOptions& options, AgentLog& log) {
  // Pushers and workers inherit that these are blocked: a terminal's Ctrl-C is the agent's only.
  auto signals = session::SignalWatch::create({SIGINT, SIGTERM, SIGHUP, SIGCHLD});
  if (!signals) return signals.error();
  PidFile pid_file(options.pid_file);
  if (auto written = pid_file.write(); !written) return written.error();
  AgentLoop loop(options, log, *signals);
  if (auto started = loop.start(); !started) return started.error();
  return loop.run();
}

}  // namespace

Outcome run_agent(const AgentOptions& options) {
  for (const std::string& pattern : options.argument_filters) {
    if (!fleet::is_valid_pattern(pattern)) {
      return Failure{"agent: --app-id-args-filter '" + pattern + "' is not a regular expression",
                     kWrongUsage};
    }
  }
  ::umask(077);  // profiles and requests are nobody else's business
  ::signal(SIGPIPE, SIG_IGN);
  if (!options.output_folder.empty()) {
    if (auto made = make_output_folder(options.output_folder); !made) return made.error();
  }
  auto log = AgentLog::open(options.log_file);
  if (!log) return log.error();
  const auto end = run_loop(options, *log);
  if (!end) return end.error();
  if (*end == AgentLoop::End::kRestart) return restart();
  return *end == AgentLoop::End::kDone ? kDone : kFailed;
}

}  // namespace swipr::commands
