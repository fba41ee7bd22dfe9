// A line on stdin: starts a thread of that name which works in late_hot, and says "spawned".
#include <thread>

#include "tests/targets/target.h"

namespace {
std::atomic<bool> stop{false};
}  // namespace

TARGET_FRAME std::uint64_t late_hot(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

int main() {
  target::say("ready");
  char name[16];
  if (!target::read_line(name, sizeof name)) return 0;
  std::thread worker([&name] {
    target::name_thread(name);
    std::uint64_t seed = 1;
    while (!stop.load(std::memory_order_relaxed)) seed = late_hot(seed);
  });
  target::say("spawned");
  target::wait_for_stdin_end();
  stop = true;
  worker.join();
  return 0;
}
