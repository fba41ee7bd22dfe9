#include "preload/handler/signals/handler_return.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "preload/handler/signals/disposition.h"
#include "preload/unwind/base/architecture.h"

extern "C" {

// In assembly, one for each architecture.
[[gnu::visibility("hidden")]] void swipr_handler_return();

}  // extern "C"

namespace swipr::handler {

namespace {

constinit std::atomic<bool> may_lose_returns{false};

constexpr int kIgnoredBySystem[] = {SIGINT, SIGQUIT};

constexpr std::uint64_t kHasRestorer = 0x04000000;  // SA_RESTORER, asm/signal.h
// Whether libc installs a function to return to; elsewhere the kernel has one.
constexpr bool kLibcHasRestorer = unwind::kElfMachine == 62;  // EM_X86_64

std::uint64_t return_address() noexcept {
  return reinterpret_cast<std::uint64_t>(&swipr_handler_return);
}

}  // namespace

bool exchange_kernel_action(int number, const KernelAction* wanted, KernelAction* before) noexcept {
  return ::syscall(SYS_rt_sigaction, number, wanted, before, sizeof(wanted->mask)) == 0;
}

int put_program_handler(int number, const struct sigaction& wanted) noexcept {
  const KernelAction action{
      .function = reinterpret_cast<std::uint64_t>(wanted.sa_sigaction),
      .flags = static_cast<std::uint32_t>(wanted.sa_flags) | kHasRestorer,
      .restorer = return_address(),
      .mask = wanted.sa_mask.__val[0],
  };
  return exchange_kernel_action(number, &action, nullptr) ? 0 : -1;
}

void redirect_return(int number) noexcept {
  KernelAction action;
  if (!exchange_kernel_action(number, nullptr, &action) || !has_function(action)) return;
  if (kLibcHasRestorer && (action.flags & kHasRestorer) == 0) return;
  if (returns_here(action)) return;
  KernelAction redirected = action;
  redirected.flags |= kHasRestorer;
  redirected.restorer = return_address();
  KernelAction replaced;
  if (!exchange_kernel_action(number, &redirected, &replaced)) return;
  // libc has changed it meanwhile: system(3) in another thread.
  if (replaced != action) exchange_kernel_action(number, &replaced, nullptr);
}

bool returns_here(const KernelAction& action) noexcept {
  return action.restorer == return_address();
}

void expect_lost_returns() noexcept { may_lose_returns.store(true, std::memory_order_relaxed); }

void redirect_lost_returns() noexcept {
  if (!may_lose_returns.load(std::memory_order_relaxed)) return;
  const DispositionLock lock;
  for (const int number : kIgnoredBySystem) {
    if (!is_taken(number)) redirect_return(number);
  }
}

bool redirect_lost_return(int number) noexcept {
  if (!may_lose_returns.load(std::memory_order_relaxed)) return false;
  if (std::ranges::find(kIgnoredBySystem, number) == std::end(kIgnoredBySystem)) return false;
  const DispositionTryLock lock;
  if (lock.is_owner() && !is_taken(number)) redirect_return(number);
  return true;
}

}  // namespace swipr::handler
