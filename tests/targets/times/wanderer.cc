// Two threads with deep stacks that never repeat, for recordings of maximal size. Each calls a
// random sequence of functions, works at its end, and starts again.
#include <thread>

#include "tests/targets/target.h"

namespace {

constexpr int kDepth = 1500;
std::atomic<bool> stop{false};

}  // namespace

TARGET_FRAME std::uint64_t turn_left(std::uint64_t way, int depth);
TARGET_FRAME std::uint64_t turn_right(std::uint64_t way, int depth);

// One step of a linear congruential generator, whose upper bits are the good ones.
TARGET_FRAME std::uint64_t walk_on(std::uint64_t way, int depth) {
  if (depth == 0) return target::churn(way, target::kChunk);
  way = way * 6364136223846793005u + 1442695040888963407u;
  return way >> 63 != 0 ? turn_left(way, depth - 1) + 1 : turn_right(way, depth - 1) + 1;
}

std::uint64_t turn_left(std::uint64_t way, int depth) { return walk_on(way, depth) + 1; }
std::uint64_t turn_right(std::uint64_t way, int depth) { return walk_on(way, depth) + 2; }

int main() {
  const auto wander = [](std::uint64_t way) {
    while (!stop.load(std::memory_order_relaxed)) way = walk_on(way, kDepth / 2);
  };
  std::thread one(wander, 1);
  std::thread two(wander, 2);
  target::say("ready");
  target::wait_for_stdin_end();
  stop = true;
  one.join();
  two.join();
  return 0;
}
