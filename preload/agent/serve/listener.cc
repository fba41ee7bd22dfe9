#include "preload/agent/serve/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "preload/agent/base/libc_calls.h"
#include "preload/agent/base/log.h"
#include "preload/agent/base/random.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/guest/published_socket.h"

namespace swipr::agent {

namespace {

constexpr int kBacklog = 32;
constexpr std::size_t kMinTokenBytes = 16;

union SocketAddress {
  sockaddr any;
  sockaddr_un unix_domain;
  sockaddr_in ip4;
  sockaddr_in6 ip6;
};

bool fill_address(std::string_view path, SocketAddress& out) noexcept {
  std::memset(&out, 0, sizeof out);
  out.unix_domain.sun_family = AF_UNIX;
  if (path.size() >= sizeof out.unix_domain.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(out.unix_domain.sun_path, path.data(), path.size());
  return true;
}

bool refuse_directory(LogLevel level, std::string_view reason, const char* path,
                      int error = 0) noexcept {
  log_line(level, reason, path, error);
  return false;
}

// Makes `path` a directory that only this user can change, so that nobody can replace what is in
// it. One of root's or ours that others can write to (an emptyDir of Kubernetes has mode 0777) is
// replaced by a folder of this user in it: who owns the name can be seen, and nobody else connects
// to a socket below it.
bool prepare_directory(TextWriter& path, uid_t uid, LogLevel level) noexcept {
  for (const bool may_be_shared : {true, false}) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return refuse_directory(level, "cannot create the socket directory", path.c_str(), errno);
    }
    struct stat status {};
    if (libc::lstat(path.c_str(), &status) != 0) {
      return refuse_directory(level, "cannot read the socket directory", path.c_str(), errno);
    }
    if (!S_ISDIR(status.st_mode)) break;
    if (status.st_uid == uid && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return true;
    if (!may_be_shared || (status.st_uid != uid && status.st_uid != 0)) break;
    path.append('/').append_number(uid);
  }
  return refuse_directory(level, "socket directory refused: a symlink, or of another user",
                          path.c_str());
}

// Whether a process accepts connections at `path`.
bool is_live(std::string_view path) noexcept {
  const int fd = connect_unix(path);
  if (fd >= 0) {
    ::close(fd);
    return true;
  }
  return errno == EAGAIN;  // a process with a full backlog is alive, too
}

// The socket is bound under a temporary name and renamed once it listens.
int bind_hidden(std::string_view path, TextWriter& hidden_path) noexcept {
  const std::size_t slash = path.rfind('/');
  hidden_path.append(leading(path, slash + 1)).append(".swipr-");
  hidden_path.append_number(static_cast<std::uint64_t>(::getpid())).append('-');
  hidden_path.append_number(pid_namespace_inode());
  ::unlink(hidden_path.c_str());  // of an image that exec has just ended: same name
  SocketAddress address;
  if (!fill_address(hidden_path.view(), address)) return -1;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  // bind() takes the file's mode from the descriptor's. The umask belongs to the program and is not
  // changed.
  if (::fchmod(fd, 0600) == 0 && ::bind(fd, &address.any, sizeof address.unix_domain) == 0) {
    if (::listen(fd, kBacklog) == 0) return fd;
    ::unlink(hidden_path.c_str());
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

bool give_name(const char* hidden_path, const PathText& path) noexcept {
  // Raw: the wrapper needs glibc 2.28, and old file systems answer EINVAL.
  if (::syscall(SYS_renameat2, AT_FDCWD, hidden_path, AT_FDCWD, path.c_str(), 1u) == 0) return true;
  if (errno == EEXIST) {
    struct stat status {};
    if (libc::lstat(path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) return false;
    if (is_live(path.view())) {
      errno = EADDRINUSE;
      return false;
    }
  } else if (errno != EINVAL && errno != ENOSYS) {
    return false;
  }
  return ::rename(hidden_path, path.c_str()) == 0;
}

bool listen_at(Listener& out) noexcept {
  PathText hidden_path;
  const int fd = bind_hidden(out.path.view(), hidden_path);
  if (fd < 0) {
    log_line(LogLevel::kError, "cannot listen", out.path.view(), errno);
    return false;
  }
  if (give_name(hidden_path.c_str(), out.path)) {
    out.fd = fd;
    return true;
  }
  const int error = errno;
  log_line(LogLevel::kError, "cannot listen", out.path.view(), error);
  ::unlink(hidden_path.c_str());
  ::close(fd);
  errno = error;
  return false;
}

bool is_loopback(const SocketAddress& address) noexcept {
  if (address.any.sa_family == AF_INET) {
    return (ntohl(address.ip4.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  return IN6_IS_ADDR_LOOPBACK(&address.ip6.sin6_addr);
}

socklen_t make_tcp_address(const ServerPlace& place, SocketAddress& out) noexcept {
  std::memset(&out, 0, sizeof out);
  if (::inet_pton(AF_INET, place.host.c_str(), &out.ip4.sin_addr) == 1) {
    out.ip4.sin_family = AF_INET;
    out.ip4.sin_port = htons(place.port);
    return sizeof out.ip4;
  }
  if (::inet_pton(AF_INET6, place.host.c_str(), &out.ip6.sin6_addr) == 1) {
    out.ip6.sin6_family = AF_INET6;
    out.ip6.sin6_port = htons(place.port);
    return sizeof out.ip6;
  }
  return 0;
}

void write_tcp_url(int fd, const ServerPlace& place, Listener& out) noexcept {
  SocketAddress bound;
  socklen_t size = sizeof bound;
  if (::getsockname(fd, &bound.any, &size) != 0) return;
  const bool ip6 = bound.any.sa_family == AF_INET6;
  out.url.append("http://").append(ip6 ? "[" : "").append(place.host.view()).append(ip6 ? "]" : "");
  out.url.append(':').append_number(ntohs(ip6 ? bound.ip6.sin6_port : bound.ip4.sin_port));
}

bool listen_tcp(const Settings& settings, const ServerPlace& place, Listener& out) noexcept {
  SocketAddress address;
  const socklen_t size = make_tcp_address(place, address);
  if (size == 0) {
    log_line(LogLevel::kError, "SWIPR_SERVER_URL: the host is not a numeric address",
             place.host.view());
    return false;
  }
  if (!is_loopback(address) && !settings.allow_remote) {
    log_line(LogLevel::kError,
             "SWIPR_SERVER_URL: not a loopback address (SWIPR_SERVER_ALLOW_REMOTE=1 permits it)",
             place.host.view());
    return false;
  }
  if (!is_loopback(address) && settings.server_token.size() < kMinTokenBytes) {
    log_line(LogLevel::kError,
             "SWIPR_SERVER_URL: remote clients need SWIPR_SERVER_TOKEN, 16 characters or more",
             place.host.view());
    return false;
  }
  const int fd = ::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, &address.any, size) != 0 || ::listen(fd, kBacklog) != 0) {
    log_line(LogLevel::kError, "cannot listen", settings.server_url, errno);
    ::close(fd);
    return false;
  }
  out.fd = fd;
  out.is_tcp = true;
  write_tcp_url(fd, place, out);
  return true;
}

bool listen_in(std::string_view directory, pid_t pid, Listener& out) noexcept {
  const auto number = static_cast<std::uint64_t>(pid);
  out.path.append(directory).append('/').append_number(number).append(".sock");
  if (listen_at(out)) return true;
  if (errno != EADDRINUSE) return false;
  out.path.clear();
  out.path.append(directory).append('/').append_number(number).append('-');
  out.path.append_number(pid_namespace_inode()).append(".sock");
  return listen_at(out);
}

}  // namespace

bool open_default_listener(const Settings& settings, pid_t pid, Listener& out) noexcept {
  const uid_t uid = ::geteuid();
  PathText directory;
  for (unsigned round = 0;; ++round) {
    const bool is_last =
        write_socket_directory(settings, uid, round, directory) == SocketDirectory::kLast;
    const auto level = is_last ? LogLevel::kError : LogLevel::kInfo;
    if (prepare_directory(directory, uid, level)) {
      const bool listens = listen_in(directory.view(), pid, out);
      if (listens) publish_socket(out.path.view());
      return listens;
    }
    if (is_last) return false;
  }
}

bool open_url_listener(const Settings& settings, pid_t pid, Listener& out) noexcept {
  Uuid uuid{};
  if (!fill_random(uuid)) {
    log_line(LogLevel::kError, "cannot get random bytes for {UUID}", {}, errno);
    return false;
  }
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x40);  // RFC 9562: version 4
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
  PathText url;
  expand_url_pattern(settings.server_url, pid, uuid, url);
  ServerPlace place;
  const char* problem = url.overflowed() ? "too long" : parse_server_url(url.view(), place);
  if (problem != nullptr) {
    log_line(LogLevel::kError, "SWIPR_SERVER_URL", problem);
    return false;
  }
  if (place.kind == ServerPlace::Kind::kTcp) return listen_tcp(settings, place, out);
  out.path.append(place.path.view());
  return listen_at(out);
}

std::uint64_t pid_namespace_inode() noexcept {
  struct stat status {};
  return libc::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

int connect_unix(std::string_view path) noexcept {
  SocketAddress address;
  if (!fill_address(path, address)) return -1;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  if (::connect(fd, &address.any, sizeof address.unix_domain) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

Peer find_peer(int fd) noexcept {
  struct ucred peer {};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return {peer.pid, peer.uid, peer.uid == ::geteuid() || peer.uid == 0};
}

bool is_trusted_peer(int fd) noexcept { return find_peer(fd).is_trusted; }

}  // namespace swipr::agent
