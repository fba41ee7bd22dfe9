// A request-response server on the loopback: four threads, each with its own epoll and every fourth
// connection; a request of 64 bytes costs about 50 µs of work.
// usage: bench_latency_server      prints "ready PORT", ends when standard input closes.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <thread>

namespace {

constexpr std::size_t kRequestBytes = 64;
constexpr std::size_t kThreads = 4;

[[gnu::noinline]] std::uint64_t handle(std::uint64_t value) {
  for (int step = 0; step < 40'000; ++step)
    value = value * 6364136223846793005u + 1442695040888963407u;
  return value;
}

void answer(int connection, int poll) {
  std::array<std::uint64_t, kRequestBytes / sizeof(std::uint64_t)> request{};
  const ssize_t count = ::recv(connection, request.data(), kRequestBytes, MSG_WAITALL);
  if (count != static_cast<ssize_t>(kRequestBytes)) {
    ::epoll_ctl(poll, EPOLL_CTL_DEL, connection, nullptr);
    ::close(connection);
    return;
  }
  request[1] = handle(request[0]);
  if (::send(connection, request.data(), kRequestBytes, MSG_NOSIGNAL) < 0) ::close(connection);
}

void serve(int poll) {
  while (true) {
    epoll_event ready{};
    if (::epoll_wait(poll, &ready, 1, -1) > 0) answer(ready.data.fd, poll);
  }
}

// Assigns the connections to the threads in turn.
void accept_all(int listener, const std::array<int, kThreads>& polls) {
  for (std::size_t count = 0;; ++count) {
    const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    const int on = 1;
    ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event added{};
    added.events = EPOLLIN;
    added.data.fd = connection;
    ::epoll_ctl(polls[count % kThreads], EPOLL_CTL_ADD, connection, &added);
  }
}

}  // namespace

int main() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, generic, size) != 0 || ::listen(listener, 64) != 0 ||
      ::getsockname(listener, generic, &size) != 0) {
    std::cerr << "bench_latency_server: cannot listen on the loopback\n";
    return 1;
  }
  std::array<int, kThreads> polls{};
  for (int& poll : polls) {
    poll = ::epoll_create1(EPOLL_CLOEXEC);
    std::thread(serve, poll).detach();
  }
  std::thread(accept_all, listener, polls).detach();
  std::cout << "ready " << ntohs(address.sin_port) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
  }
  ::_exit(0);
}
