// Asks bench_latency_server at a fixed rate over a few connections and prints what it saw.
// usage: bench_latency_client PORT SECONDS REQUESTS_PER_SECOND
// Prints "<requests> <p50 ns> <p99 ns> <p99.9 ns>". A latency counts from the moment at which the
// request was due, so that a stalled server cannot hide the requests that it held up.
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
#include <thread>
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

void ask(int descriptor, Clock::time_point first, Clock::time_point end, Clock::duration interval,
         std::vector<std::int64_t>& latencies) {
  ::prctl(PR_SET_TIMERSLACK, 1);
  std::array<char, kRequestBytes> request{};
  for (Clock::time_point due = first; due < end; due += interval) {
    std::this_thread::sleep_until(due);
    if (::send(descriptor, request.data(), kRequestBytes, MSG_NOSIGNAL) < 0 ||
        ::recv(descriptor, request.data(), kRequestBytes, MSG_WAITALL) !=
            static_cast<ssize_t>(kRequestBytes))
      return;
    latencies.push_back(std::chrono::nanoseconds(Clock::now() - due).count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: bench_latency_client PORT SECONDS REQUESTS_PER_SECOND\n";
    return 2;
  }
  const auto port = static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 10));
  const std::chrono::duration<double> seconds(std::strtod(argv[2], nullptr));
  const std::chrono::duration<double> interval(kConnections / std::strtod(argv[3], nullptr));
  const auto begin = Clock::now() + std::chrono::milliseconds(20);
  const auto end = begin + std::chrono::duration_cast<Clock::duration>(seconds);
  std::array<std::vector<std::int64_t>, kConnections> found;
  std::vector<std::thread> threads;
  for (int index = 0; index < kConnections; ++index) {
    const int descriptor = connect_to(port);
    if (descriptor < 0) {
      std::cerr << "bench_latency_client: nobody listens on port " << port << '\n';
      return 1;
    }
    // Spread evenly, so that the connections do not ask all at once.
    const auto step = std::chrono::duration_cast<Clock::duration>(interval);
    threads.emplace_back(ask, descriptor, begin + step * index / kConnections, end, step,
                         std::ref(found[static_cast<std::size_t>(index)]));
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::int64_t> all;
  for (const auto& part : found) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  if (all.empty()) return 1;
  const auto quantile = [&all](double share) {
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  std::cout << all.size() << ' ' << quantile(0.5) << ' ' << quantile(0.99) << ' ' << quantile(0.999)
            << '\n';
}
