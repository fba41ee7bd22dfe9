// hostile_names: works until stdin ends, in a function, a source file and a thread whose names
// contain a terminal control sequence and characters that change the direction of text.
#include <atomic>
#include <thread>

#include "tests/targets/target.h"

// U+009B (CSI), U+0085 (NEL), U+202E (right-to-left override), U+2066 (left-to-right isolate)
#define HOSTILE_BYTES "\xc2\x9b\xc2\x85\xe2\x80\xae\xe2\x81\xa6"

namespace {
std::atomic<bool> ended{false};
}  // namespace

TARGET_FRAME std::uint64_t hostile_hot(std::uint64_t seed) __asm__("function" HOSTILE_BYTES);

int main() {
  std::thread worker([] {
    target::name_thread("t" HOSTILE_BYTES "d");
    std::uint64_t seed = 1;
    while (!ended && seed != 0) seed = hostile_hot(seed);
  });
  target::say("ready");
  target::wait_for_stdin_end();
  ended = true;
  worker.join();
}

// The same bytes, as the preprocessor takes them.
#line 1 "source\302\233\302\205\342\200\256\342\201\246.cc"
std::uint64_t hostile_hot(std::uint64_t seed) { return target::churn(seed, target::kChunk) + 1; }
