#include "cli/push/sender.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace swipr::push {

namespace {

using host::Error;
using host::Result;

constexpr std::size_t kMostAnswerBytes = std::size_t{1} << 20;

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return host::system_error("swipr-send has ended", errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

Result<std::string> find_send_program() {
  std::array<char, PATH_MAX> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
  std::string_view here(self.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  here = here.substr(0, here.rfind('/') + 1);
  for (const std::string_view place :
       {"swipr-send", SWIPR_LIBEXECDIR "/swipr/swipr-send", "../libexec/swipr/swipr-send"}) {
    const std::string path = fmt::format("{}{}", here, place);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return Error(
      "swipr-send is missing: it is installed with swipr, in ../libexec/swipr beside the folder of "
      "swipr");
}

Sender::Sender(pid_t pid, host::UniqueFd to, host::UniqueFd from)
    : pid_(pid), to_(std::move(to)), from_(std::move(from)) {}

Sender::Sender(Sender&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_(std::move(other.to_)),
      from_(std::move(other.from_)),
      unread_(std::move(other.unread_)) {}

Sender::~Sender() {
  if (pid_ < 0) return;
  to_ = {};
  from_ = {};
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<Sender> Sender::start(const SendPlace& place) {
  auto program = find_send_program();
  if (!program) return program.error();
  std::array<int, 2> requests{-1, -1};
  std::array<int, 2> answers{-1, -1};
  if (::pipe2(requests.data(), O_CLOEXEC) != 0) return host::system_error("no pipe", errno);
  host::UniqueFd request_end(requests[0]);
  host::UniqueFd to(requests[1]);
  if (::pipe2(answers.data(), O_CLOEXEC) != 0) return host::system_error("no pipe", errno);
  host::UniqueFd from(answers[0]);
  host::UniqueFd answer_end(answers[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, request_end.value(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, answer_end.value(), STDOUT_FILENO);
  char* arguments[] = {program->data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program->c_str(), &actions, nullptr, arguments, ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return host::system_error("cannot start " + *program, error);
  Sender sender(pid, std::move(to), std::move(from));
  auto told = write_all(sender.to_.value(), format_place(place) + "\n");
  if (!told) return told.error();
  return sender;
}

Result<void> Sender::send(const Request& request) {
  auto sent = write_all(to_.value(), format_request(request) + "\n");
  return sent ? write_all(to_.value(), request.body) : sent;
}

Result<Answer> Sender::post(const Request& request) {
  if (auto sent = send(request); !sent) return sent.error();
  return receive();
}

Result<Answer> Sender::receive() {
  std::array<char, 4096> buffer{};
  std::size_t end = unread_.find('\n');
  while (end == std::string::npos) {
    const ssize_t count = ::read(from_.value(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || unread_.size() > kMostAnswerBytes) return Error("swipr-send has ended");
    unread_.append(buffer.data(), static_cast<std::size_t>(count));
    end = unread_.find('\n');
  }
  auto answer = parse_answer(unread_.substr(0, end));
  unread_.erase(0, end + 1);
  return answer;
}

}  // namespace swipr::push
