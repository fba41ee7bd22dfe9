// Works in killer_hot in a thread; a line on stdin says how the program ends: exit, quick (_exit),
// quick_exit, abort, kill.
#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/targets/target.h"

TARGET_FRAME std::uint64_t killer_hot(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

int main() {
  std::thread([] {
    target::name_thread("killer");
    std::uint64_t seed = 1;
    while (seed != 0) seed = killer_hot(seed) | 1;
  }).detach();
  target::say("ready");
  char how[16];
  if (!target::read_line(how, sizeof how)) _exit(0);
  if (std::strcmp(how, "abort") == 0) std::abort();
  if (std::strcmp(how, "kill") == 0) raise(SIGKILL);
  if (std::strcmp(how, "quick") == 0) _exit(4);
  if (std::strcmp(how, "quick_exit") == 0) std::quick_exit(5);
  std::exit(3);
}
