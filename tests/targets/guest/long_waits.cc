// Threads that wait over and over, 100 ms each time, with timeouts that begin again if the call is
// made again. "ready", then until its standard input is closed; then how many waits there were, and
// how many lasted more than 140 ms, their waiting for a CPU left out.
#include <poll.h>
#include <sys/epoll.h>

#include <fstream>
#include <thread>
#include <vector>

#include "tests/targets/target.h"

namespace {

constexpr int kThreads = 24;
constexpr int kWaitMs = 100;
constexpr std::int64_t kLateNs = 140'000'000;

std::atomic<bool> ending{false};
std::atomic<long> waits{0};
std::atomic<long> late{0};

// How long the calling thread has waited for a CPU since it was born.
std::int64_t queued_ns() {
  std::ifstream file("/proc/thread-self/schedstat");
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  file >> running >> waiting;
  return waiting;
}

void wait_often(bool in_epoll) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  while (!ending) {
    epoll_event event{};
    const std::int64_t begin_ns = target::now_ns() - queued_ns();
    in_epoll ? ::epoll_wait(epoll, &event, 1, kWaitMs) : ::poll(nullptr, 0, kWaitMs);
    const std::int64_t end_ns = target::now_ns();
    ++waits;
    if (end_ns - queued_ns() - begin_ns > kLateNs) ++late;
  }
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int at = 0; at < kThreads; ++at) threads.emplace_back(wait_often, at % 2 == 0);
  target::say("ready");
  target::wait_for_stdin_end();
  ending = true;
  for (auto& thread : threads) thread.join();
  std::printf("%ld %ld\n", waits.load(), late.load());
}
