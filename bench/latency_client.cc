// Sends requests to bench_latency_server at a fixed rate over a few connections, until standard
// input ends. usage: bench_latency_client PORT REQUESTS_PER_SECOND Prints "ready", then to each
// line of standard input "<requests> <p50 ns> <p99 ns> <p99.9 ns>" of the answers since the
// previous line. Latency is measured from the time at which the request was due, so that a stalled
// server cannot hide delayed requests. One client for all slices keeps the phase of the requests
// relative to the kernel's tick, which changes p99 more than a recording.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kRequestBytes = 64;
constexpr int kConnections = 4;

int connect_to(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return -1;
  return descriptor;
}

class Latencies {
 public:
  void add(Clock::duration latency) {
    const std::lock_guard lock(mutex_);
    nanoseconds_.push_back(std::chrono::nanoseconds(latency).count());
  }
  std::vector<std::int64_t> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(nanoseconds_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::int64_t> nanoseconds_;
};

void ask(int descriptor, Clock::time_point due, Clock::duration interval, Latencies& latencies) {
  ::prctl(PR_SET_TIMERSLACK, 1);
  std::array<char, kRequestBytes> request{};
  for (;; due += interval) {
    std::this_thread::sleep_until(due);
    if (::send(descriptor, request.data(), kRequestBytes, MSG_NOSIGNAL) < 0 ||
        ::recv(descriptor, request.data(), kRequestBytes, MSG_WAITALL) !=
            static_cast<ssize_t>(kRequestBytes)) {
      std::cerr << "bench_latency_client: the server has closed a connection\n";
      ::_exit(1);
    }
    latencies.add(Clock::now() - due);
  }
}

void print(std::vector<std::int64_t> latencies) {
  std::sort(latencies.begin(), latencies.end());
  const auto quantile = [&latencies](double share) {
    return latencies.empty() ? 0
                             : latencies[static_cast<std::size_t>(
                                   share * static_cast<double>(latencies.size() - 1))];
  };
  std::cout << latencies.size() << ' ' << quantile(0.5) << ' ' << quantile(0.99) << ' '
            << quantile(0.999) << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bench_latency_client PORT REQUESTS_PER_SECOND\n";
    return 2;
  }
  const auto port = static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10));
  const std::chrono::duration<double> seconds(kConnections / std::strtod(argv[2], nullptr));
  const auto interval = std::chrono::duration_cast<Clock::duration>(seconds);
  const auto begin = Clock::now() + std::chrono::milliseconds(20);
  std::array<Latencies, kConnections> found;
  for (int index = 0; index < kConnections; ++index) {
    const int descriptor = connect_to(port);
    if (descriptor < 0) {
      std::cerr << "bench_latency_client: nobody listens on port " << port << '\n';
      return 1;
    }
    // Spread evenly, so that the connections do not send requests all at once.
    std::thread(ask, descriptor, begin + interval * index / kConnections, interval,
                std::ref(found[static_cast<std::size_t>(index)]))
        .detach();
  }
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::int64_t> all;
    for (Latencies& part : found) {
      const std::vector<std::int64_t> taken = part.take();
      all.insert(all.end(), taken.begin(), taken.end());
    }
    print(std::move(all));
  }
  ::_exit(0);
}
