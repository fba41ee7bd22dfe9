// Threads that wait over and over, 100 ms each time, with timeouts that begin again if the call is
// made again. "ready", then until its standard input is closed; then how many waits there were, and
// how many of those that slept more than once lasted more than 140 ms, their waiting for a CPU left
// out.
#include <poll.h>
#include <sys/epoll.h>

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

void wait_often(bool in_epoll) {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  while (!ending) {
    epoll_event event{};
    const std::int64_t begin_ns = target::now_ns() - target::queued_ns();
    const long sleeps = target::sleeps();
    in_epoll ? ::epoll_wait(epoll, &event, 1, kWaitMs) : ::poll(nullptr, 0, kWaitMs);
    const std::int64_t end_ns = target::now_ns();
    ++waits;
    const bool was_made_again = target::sleeps() - sleeps > 1;
    if (was_made_again && end_ns - target::queued_ns() - begin_ns > kLateNs) ++late;
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
