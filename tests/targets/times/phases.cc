// phases [SLEEPERS]: one thread computes in phase_one or, after each line of input, in the other of
// phase_one and phase_two; one holds a mutex most of the time, and another waits for it; SLEEPERS
// more threads sleep for 10 ms at a time.
#include <cstdlib>
#include <mutex>
#include <thread>

#include "tests/targets/target.h"

namespace {

std::atomic<bool> is_second{false};
std::atomic<std::uint64_t> sink{0};
std::mutex mutex;

void sleep_ms(int milliseconds) {
  const timespec time{0, milliseconds * 1'000'000};
  nanosleep(&time, nullptr);
}

}  // namespace

TARGET_FRAME std::uint64_t phase_one(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

TARGET_FRAME std::uint64_t phase_two(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 2;
}

TARGET_FRAME int hold_mutex(int milliseconds) {
  sleep_ms(milliseconds);
  return milliseconds + 1;
}

TARGET_FRAME int enter_mutex(int round) {
  const std::lock_guard lock(mutex);
  return round + 1;
}

namespace {

void compute() {
  target::name_thread("worker");
  std::uint64_t seed = 1;
  while (true) {
    seed = is_second ? phase_two(seed) : phase_one(seed);
    sink = seed;
  }
}

void hold() {
  target::name_thread("holder");
  while (true) {
    {
      const std::lock_guard lock(mutex);
      hold_mutex(30);
    }
    sleep_ms(3);
  }
}

void wait() {
  target::name_thread("waiter");
  for (int round = 0;; round = enter_mutex(round)) sleep_ms(1);
}

void sleep_often() {
  while (true) sleep_ms(10);
}

}  // namespace

int main(int argc, char** argv) {
  std::thread(compute).detach();
  std::thread(hold).detach();
  std::thread(wait).detach();
  const int sleepers = argc > 1 ? std::atoi(argv[1]) : 0;
  for (int index = 0; index < sleepers; ++index) std::thread(sleep_often).detach();
  target::say("ready");
  char line[16];
  while (target::read_line(line, sizeof line)) is_second = !is_second;
  _exit(0);
}
