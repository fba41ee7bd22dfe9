#include "cli/session/launch/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/host/caller_signals.h"
#include "common/host/secret.h"

namespace swipr::session {

namespace {

using host::Error;
using host::Result;

// Programs started by root may change to other users, who cannot access root's $XDG_RUNTIME_DIR.
bool records_other_users() { return ::geteuid() == 0; }

Result<std::string> make_private_directory() {
  const char* runtime = records_other_users() ? nullptr : std::getenv("XDG_RUNTIME_DIR");
  int error = 0;
  for (const char* parent : {runtime, "/tmp"}) {
    if (parent == nullptr || *parent == '\0') continue;
    std::string path = fmt::format("{}/swipr.XXXXXX", parent);
    // The path of the socket must fit sun_path and be absolute, because the program may
    // change its directory.
    if (path.size() > 64 || path.front() != '/') continue;
    if (::mkdtemp(path.data()) != nullptr) return path;
    error = errno;
  }
  return host::system_error("cannot create a directory for the socket in /tmp", error);
}

// The environment of this process with LD_PRELOAD and the variable of the rendezvous added.
std::vector<std::string> make_environment(const LaunchPlan& plan) {
  std::string preload;
  for (const std::string& library : plan.preloads) {
    preload += (preload.empty() ? "" : ":") + library;
  }
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("LD_PRELOAD=")) {
      const std::string_view before = text.substr(text.find('=') + 1);
      if (!before.empty()) preload.append(":").append(before);
    } else if (!text.starts_with("SWIPR_RENDEZVOUS=")) {
      environment.emplace_back(text);
    }
  }
  environment.push_back("LD_PRELOAD=" + preload);
  environment.push_back("SWIPR_RENDEZVOUS=" + plan.rendezvous);
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Context: the child of a fork.
[[noreturn]] void run_program(const LaunchPlan& plan, char* const* arguments,
                              char* const* environment, int go_fd, int report_fd) {
  char go = 0;
  if (::read(go_fd, &go, 1) != 1) ::_exit(0);
  host::return_signals_of_caller();
  ::sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  // execvpe runs scripts without "#!" in the shell, as a shell does.
  ::execvpe(plan.program.c_str(), arguments, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report_fd, &error, sizeof error);
  ::_exit(126);
}

}  // namespace

Rendezvous::Rendezvous(std::string directory, std::string path, host::UniqueFd listener)
    : directory_(std::move(directory)), path_(std::move(path)), listener_(std::move(listener)) {}

Result<Rendezvous> Rendezvous::create() {
  auto directory = make_private_directory();
  if (!directory) return directory.error();
  Rendezvous rendezvous(
      *directory, *directory + "/rendezvous.sock",
      host::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, rendezvous.path_.c_str(), rendezvous.path_.size() + 1);
  if (!rendezvous.listener_ ||
      ::bind(rendezvous.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(rendezvous.fd(), SOMAXCONN) != 0) {
    return host::system_error(fmt::format("cannot listen on {}", rendezvous.path_), errno);
  }
  if (records_other_users()) {
    if (auto opened = rendezvous.open_to_other_users(); !opened) return opened.error();
  }
  return rendezvous;
}

// Only the command and its descendants know the new name: the directory cannot be listed, and
// /proc/net/unix shows the name at bind().
Result<void> Rendezvous::open_to_other_users() {
  const auto secret = host::make_secret();
  if (!secret) return secret.error();
  std::string told = directory_ + "/" + *secret;
  if (::chmod(path_.c_str(), 0666) != 0 || ::rename(path_.c_str(), told.c_str()) != 0) {
    return host::system_error(fmt::format("cannot share {}", path_), errno);
  }
  path_ = std::move(told);
  if (::chmod(directory_.c_str(), 0711) != 0) {
    return host::system_error(fmt::format("cannot share {}", directory_), errno);
  }
  return {};
}

Rendezvous::~Rendezvous() {
  if (path_.empty()) return;
  ::unlink(path_.c_str());
  ::rmdir(directory_.c_str());
}

host::UniqueFd Rendezvous::try_accept() {
  return host::UniqueFd(::accept4(fd(), nullptr, nullptr, SOCK_CLOEXEC));
}

Launch::Launch(Pid pid, host::UniqueFd go, host::UniqueFd report)
    : pid_(pid), go_(std::move(go)), report_(std::move(report)) {}

Launch::Launch(Launch&& other) noexcept
    : pid_(std::exchange(other.pid_, Pid{})),
      go_(std::move(other.go_)),
      report_(std::move(other.report_)) {}

Launch::~Launch() {
  if (pid_.value == 0) return;
  go_.close();
  ::waitpid(pid_.value, nullptr, 0);
}

Result<Launch> Launch::prepare(const LaunchPlan& plan) {
  std::vector<std::string> argument_texts = plan.arguments;
  std::vector<std::string> environment_texts = make_environment(plan);
  const std::vector<char*> arguments = pointers(argument_texts);
  const std::vector<char*> environment = pointers(environment_texts);
  int go[2];
  int report[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return host::system_error("cannot make a pipe", errno);
  host::UniqueFd go_read(go[0]);
  host::UniqueFd go_write(go[1]);
  if (::pipe2(report, O_CLOEXEC) != 0) return host::system_error("cannot make a pipe", errno);
  host::UniqueFd report_read(report[0]);
  host::UniqueFd report_write(report[1]);
  const pid_t child = ::fork();
  if (child < 0) return host::system_error("cannot start another process", errno);
  if (child == 0) {
    go_write.close();  // else the child would wait for itself
    run_program(plan, arguments.data(), environment.data(), go_read.value(), report_write.value());
  }
  return Launch(Pid{child}, std::move(go_write), std::move(report_read));
}

Result<void> Launch::run() {
  const char go = 1;
  int error = 0;
  ssize_t count = ::write(go_.value(), &go, 1);
  do {
    count = ::read(report_.value(), &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  if (count != 0) return Error(std::strerror(error));
  pid_ = Pid{};
  return {};
}

}  // namespace swipr::session
