#include "preload/handler/signals/handler_return.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "preload/unwind/base/architecture.h"

extern "C" {

// In assembly, one for each architecture.
[[gnu::visibility("hidden")]] void swipr_handler_return();

}  // extern "C"

namespace swipr::handler {

namespace {

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
  action.flags |= kHasRestorer;
  action.restorer = return_address();
  exchange_kernel_action(number, &action, nullptr);
}

bool returns_here(const KernelAction& action) noexcept {
  return action.restorer == return_address();
}

}  // namespace swipr::handler
