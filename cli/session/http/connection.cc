#include "cli/session/http/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace swipr::session {

namespace {

using host::Error;
using host::Result;

constexpr std::size_t kMaxAnswerBytes = 65536;

// Milliseconds until `deadline`, for poll.
int rest_of(std::chrono::steady_clock::time_point deadline) {
  const auto rest =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(rest.count(), 0, 60'000));
}

}  // namespace

Result<Peer> read_peer(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return host::system_error("cannot read the credentials of the peer of the socket", errno);
  }
  return Peer{Pid{credentials.pid}, credentials.uid};
}

bool is_recordable(const Peer& peer) {
  return peer.uid == ::geteuid() || peer.uid == 0 || ::geteuid() == 0;
}

ConnectOutcome connect_in(const std::string& directory, const std::string& name) {
  ConnectOutcome outcome;
  const host::UniqueFd place(
      ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place) {
    outcome.error = errno;
    return outcome;
  }
  // sun_path has 108 bytes; /proc/PID/root/… is often longer.
  const std::string path = fmt::format("/proc/self/fd/{}/{}", place.value(), name);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    outcome.error = ENAMETOOLONG;
    return outcome;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  host::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{2, 0};
  if (!fd || ::setsockopt(fd.value(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
      ::connect(fd.value(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    outcome.error = errno;
    return outcome;
  }
  const auto peer = read_peer(fd.value());
  if (!peer) {
    outcome.error = EPROTO;
    return outcome;
  }
  outcome.peer = *peer;
  outcome.fd = std::move(fd);
  return outcome;
}

Result<void> send_text(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return host::system_error("cannot send the request", errno);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

namespace {

// Sends the request and reads the whole answer with `reader`.
Result<void> exchange(int fd, std::string_view path, std::chrono::milliseconds timeout,
                      ResponseReader& reader) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  auto sent = send_text(
      fd, fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path));
  if (!sent) return sent;
  std::array<std::byte, 65536> buffer{};
  while (!reader.complete()) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, rest_of(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Error("no answer in time");
    const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count < 0) return host::system_error("cannot read the answer", errno);
    auto done = count == 0 ? reader.finish()
                           : reader.feed(std::span(buffer).first(static_cast<std::size_t>(count)));
    if (!done) return done;
  }
  return {};
}

}  // namespace

Result<int> fetch_into(int fd, std::string_view path, std::chrono::milliseconds timeout,
                       const ResponseReader::BodySink& sink) {
  ResponseReader* current = nullptr;
  ResponseReader reader([&current, &sink](std::span<const std::byte> bytes) -> Result<void> {
    return current->status() == 200 ? sink(bytes) : Result<void>();
  });
  current = &reader;
  if (auto done = exchange(fd, path, timeout, reader); !done) return done.error();
  return reader.status();
}

Result<Answer> fetch(int fd, std::string_view path, std::chrono::milliseconds timeout) {
  Answer answer;
  ResponseReader reader([&answer](std::span<const std::byte> bytes) -> Result<void> {
    if (bytes.size() > kMaxAnswerBytes - answer.body.size()) return Error("the answer is too long");
    answer.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  });
  if (auto done = exchange(fd, path, timeout, reader); !done) return done.error();
  answer.status = reader.status();
  return answer;
}

}  // namespace swipr::session
