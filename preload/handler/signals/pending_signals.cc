#include "preload/handler/signals/pending_signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "preload/handler/signals/handler_return.h"
#include "preload/handler/signals/own_signal.h"

namespace swipr::handler {

namespace {

constexpr std::uint64_t kIgnore = 1;  // SIG_IGN, asm-generic/signal-defs.h
constexpr std::uint64_t kResetOnDelivery = 0x8000'0000;

std::uint64_t bit(int number) noexcept { return std::uint64_t{1} << (number - 1); }

// One pending instance; the calling thread's own come first.
bool take(int number, siginfo_t& info) noexcept {
  const std::uint64_t set = bit(number);
  const timespec now{};
  return ::syscall(SYS_rt_sigtimedwait, &set, &info, &now, sizeof set) == number;
}

}  // namespace

bool reset_to_default(int number) noexcept {
  KernelAction own;
  if (!exchange_kernel_action(number, nullptr, &own)) return false;
  KernelAction once = own;
  once.flags |= kResetOnDelivery;
  exchange_kernel_action(number, &once, nullptr);
  ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), number);
  // Unblocks the signal for one delivery: the handler returns to the old mask, so that an instance
  // that is pending for the process stays pending.
  const std::uint64_t all_but_it = ~bit(number);
  const timespec now{};
  ::syscall(SYS_ppoll, nullptr, 0L, &now, &all_but_it, sizeof all_but_it);
  KernelAction after;
  if (exchange_kernel_action(number, nullptr, &after) && !has_function(after)) return true;
  exchange_kernel_action(number, &own, nullptr);
  return false;
}

void ignore_for_exec(int number) noexcept {
  // At most one for the thread and one for the process; signals above SIGRTMIN queue, and only the
  // first are kept.
  std::array<siginfo_t, 4> kept;
  std::size_t count = 0;
  siginfo_t info;
  while (count != kept.size() && take(number, info)) {
    if (!is_own_signal(info)) kept[count++] = info;
  }
  const KernelAction ignore{.function = kIgnore, .flags = 0, .restorer = 0, .mask = 0};
  exchange_kernel_action(number, &ignore, nullptr);
  const long process = ::getpid();
  const long self = ::syscall(SYS_gettid);
  for (std::size_t at = 0; at < count; ++at) {
    const bool for_process =
        at != 0 && ::syscall(SYS_rt_sigqueueinfo, process, number, &kept[at]) == 0;
    if (!for_process) ::syscall(SYS_rt_tgsigqueueinfo, process, self, number, &kept[at]);
  }
}

}  // namespace swipr::handler
