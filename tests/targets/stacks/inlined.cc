// All work happens in a function that is inlined twice: outer_hot > inlined_middle > inlined_leaf.
#include <thread>

#include "tests/targets/target.h"

namespace {

TARGET_INLINE std::uint64_t inlined_leaf(std::uint64_t seed) {
  return target::churn(seed, target::kChunk);
}

TARGET_INLINE std::uint64_t inlined_middle(std::uint64_t seed) {
  return inlined_leaf(seed ^ 0x5bd1e995U) + 1;
}

std::atomic<bool> stop{false};

}  // namespace

TARGET_FRAME std::uint64_t outer_hot(std::uint64_t seed) { return inlined_middle(seed) * 3; }

int main() {
  std::thread worker([] {
    target::name_thread("inliner");
    std::uint64_t seed = 1;
    while (!stop.load(std::memory_order_relaxed)) seed = outer_hot(seed);
  });
  target::say("ready");
  target::wait_for_stdin_end();
  stop = true;
  worker.join();
  return 0;
}
