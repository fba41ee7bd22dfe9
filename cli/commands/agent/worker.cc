#include "cli/commands/agent/worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "common/host/text/clean_text.h"
#include "common/host/unnamed_file.h"

namespace swipr::commands {

namespace {

using host::Result;

// Names of 20 programs with debug information need 2 s and 150 MiB. Data and not address space is
// limited, because files are mapped and each thread reserves 64 MiB.
constexpr rlim_t kMaxCpuSeconds = 60;
constexpr rlim_t kMaxDataBytes = rlim_t{512} << 20;
constexpr rlim_t kMaxFileBytes = rlim_t{1} << 30;
constexpr int kNice = 10;
constexpr int kThrew = 3;
constexpr std::size_t kMaxReportBytes = std::size_t{64} << 10;

void limit(__rlimit_resource resource, rlim_t value) {
  rlimit limits{};
  if (::getrlimit(resource, &limits) != 0) return;
  limits.rlim_cur = std::min(limits.rlim_max, value);
  limits.rlim_max = limits.rlim_cur;
  ::setrlimit(resource, &limits);
}

int run(const std::function<std::vector<std::string>()>& work, int report) {
  int code = 0;
  std::string text;
  try {
    for (const std::string& line : work()) text += host::clean_text(line) + "\n";
  } catch (const std::exception& error) {
    text = fmt::format("error {}\n", error.what());
    code = kThrew;
  }
  std::string_view rest = std::string_view(text).substr(0, kMaxReportBytes);
  while (!rest.empty()) {
    const ssize_t count = ::write(report, rest.data(), rest.size());
    if (count <= 0) return kThrew;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return code;
}

std::string describe_end(int status) {
  if (WIFEXITED(status)) {
    return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit code {}", WEXITSTATUS(status));
  }
  const int number = WTERMSIG(status);
  if (number == SIGXCPU) return fmt::format("more than {} s of CPU time", kMaxCpuSeconds);
  return fmt::format("signal {} ({})", number, ::strsignal(number));
}

std::vector<std::string> read_lines(int fd) {
  std::string text(kMaxReportBytes, '\0');
  const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(host::clean_text(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

Worker::Worker(Worker&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      report_(std::move(other.report_)),
      started_(other.started_) {}

Worker::~Worker() {
  if (pid_ < 0) return;
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Worker::kill() const {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

Result<Worker> Worker::start(const std::function<std::vector<std::string>()>& work) {
  host::UniqueFd report = host::make_unnamed_file("swipr-worker");
  if (!report) return host::system_error("no memory for a worker", errno);
  const pid_t agent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return host::system_error("cannot start a worker", errno);
  if (pid != 0) return Worker(pid, std::move(report));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != agent) ::_exit(kThrew);
  ::unsetenv("SWIPR_PUSH_TOKEN");
  ::setpriority(PRIO_PROCESS, 0, kNice);
  limit(RLIMIT_CPU, kMaxCpuSeconds);
  limit(RLIMIT_DATA, kMaxDataBytes);
  limit(RLIMIT_FSIZE, kMaxFileBytes);
  limit(RLIMIT_CORE, 0);
  ::_exit(run(work, report.value()));
}

std::optional<WorkerResult> Worker::try_finish() {
  int status = 0;
  rusage usage{};
  if (pid_ < 0 || ::wait4(pid_, &status, WNOHANG, &usage) != pid_) return std::nullopt;
  pid_ = -1;
  WorkerResult result;
  result.lines = read_lines(report_.value());
  result.failure = describe_end(status);
  const auto time_of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  result.cpu = time_of(usage.ru_utime) + time_of(usage.ru_stime);
  result.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return result;
}

}  // namespace swipr::commands
