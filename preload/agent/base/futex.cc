#include "preload/agent/base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <limits>

#include "preload/agent/base/clock.h"
#include "preload/agent/base/moment.h"
#include "preload/machine/raw_syscall.h"

namespace swipr::agent {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t),
              "the kernel sees the bare word");

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds timeout) noexcept {
  const timespec relative = to_timespec(timeout);
  machine::raw_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, expected,
                       reinterpret_cast<long>(&relative));
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  machine::raw_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE,
                       std::numeric_limits<int>::max());
}

void wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                     std::chrono::nanoseconds timeout) noexcept {
  const Moment deadline = monotonic_now() + timeout;
  while (word.load(std::memory_order_acquire) == expected) {
    const Moment left = deadline - monotonic_now();
    if (left <= Moment::zero()) return;
    futex_wait(word, expected, left);
  }
}

}  // namespace swipr::agent
