#include "preload/trace/gate/fork_lock.h"

#include <linux/futex.h>

#include "preload/trace/base/atomic.h"
#include "preload/trace/gate/gate.h"

namespace swipr::trace {

namespace {

constexpr std::uint32_t kGateOpen = 1u << 31;  // in `forks`, whose other bits count
constinit Atomic<std::uint32_t> forks{};

}  // namespace

// False: forks follow each other without end.
bool wait_for_forks(std::uint64_t deadline) noexcept {
  for (;;) {
    std::uint32_t none = 0;
    if (forks.compare_exchange(none, kGateOpen)) return true;
    if (now_ns() > deadline) return false;
    sleep_ns(100'000);
  }
}

void let_fork() noexcept {
  forks.store(0);
  machine::raw_syscall(SYS_futex, address_of(&forks), FUTEX_WAKE_PRIVATE, 0x7fffffff);
}

void before_fork() noexcept {
  for (;;) {
    std::uint32_t before = forks.load();
    if ((before & kGateOpen) == 0) {
      if (forks.compare_exchange(before, before + 1)) return;
      continue;
    }
    machine::raw_syscall(SYS_futex, address_of(&forks), FUTEX_WAIT_PRIVATE, before, 0);
  }
}

void after_fork_in_parent() noexcept { forks.fetch_add(~std::uint32_t{0}); }
void after_fork_in_child() noexcept { forks.store(0); }

}  // namespace swipr::trace
