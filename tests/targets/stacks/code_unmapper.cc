// Code comes and goes at full rate in one thread, while another one runs in assembly without CFI
// with an address of that code on top of its stack, as a stale return address is.
#include <sys/mman.h>

#include <cstdlib>
#include <thread>

#include "tests/targets/target.h"

// Spins with `address` on top of the stack. One file per architecture.
extern "C" void bare_spin(std::uint64_t address, std::uint64_t count);

namespace {

constexpr std::size_t kPage = 4096;
std::atomic<bool> stopped{false};

// nullptr: anywhere. Otherwise in the place of what is there: a hole would be free for others.
void* map(void* address, int protection) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (address == nullptr ? 0 : MAP_FIXED);
  void* const mapped = mmap(address, kPage, protection, flags, -1, 0);
  if (mapped == MAP_FAILED) std::abort();
  return mapped;
}

void come_and_go(void* code) {
  target::name_thread("mapper");
  std::uint64_t seed = 1;
  while (!stopped) {
    seed = target::churn(seed, 2'000);
    map(code, PROT_NONE);
    map(code, PROT_READ | PROT_EXEC);
  }
}

}  // namespace

TARGET_FRAME void spin_below(void* code) {
  while (!stopped) bare_spin(reinterpret_cast<std::uint64_t>(code) + 64, 100'000);
}

int main() {
  void* const code = map(nullptr, PROT_READ | PROT_EXEC);
  std::thread mapper(come_and_go, code);
  std::thread spinner([code] {
    target::name_thread("spinner");
    spin_below(code);
  });
  target::say("ready");
  target::wait_for_stdin_end();
  stopped = true;
  spinner.join();
  mapper.join();
  return 0;
}
