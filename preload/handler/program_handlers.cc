#include "preload/handler/program_handlers.h"

#include <ucontext.h>

#include <atomic>
#include <cstdint>

#include "preload/handler/interrupted_code.h"
#include "preload/handler/mend_call.h"

namespace swipr::handler {

namespace {

constexpr int kSignals = 64;

// A function and whether it takes three arguments, in one word: a handler that runs while another
// is installed sees one or the other. Addresses have 47 bits (57 with five-level page tables).
constexpr std::uint64_t kTakesInfo = std::uint64_t{1} << 63;
constinit std::atomic<std::uint64_t> functions[kSignals + 1] = {};

bool is_known(int number) noexcept { return number > 0 && number <= kSignals; }

bool is_function(const struct sigaction& action) noexcept {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
         action.sa_handler != SIG_ERR;
}

void on_program_signal(int number, siginfo_t* info, void* context) noexcept {
  const std::uint64_t word = functions[number].load(std::memory_order_acquire);
  const auto address = reinterpret_cast<void*>(word & ~kTakesInfo);
  if ((word & kTakesInfo) != 0) {
    reinterpret_cast<void (*)(int, siginfo_t*, void*)>(address)(number, info, context);
  } else {
    reinterpret_cast<void (*)(int)>(address)(number);
  }
  leave_to_program(*static_cast<ucontext_t*>(context));
}

}  // namespace

struct sigaction to_kernel_action(int number, const struct sigaction& wanted) noexcept {
  struct sigaction action = wanted;
  if (!is_known(number) || !is_function(wanted)) return action;
  const bool takes_info = (wanted.sa_flags & SA_SIGINFO) != 0;
  const auto address = reinterpret_cast<std::uint64_t>(wanted.sa_sigaction);
  functions[number].store(address | (takes_info ? kTakesInfo : 0), std::memory_order_release);
  action.sa_sigaction = &on_program_signal;
  action.sa_flags |= SA_SIGINFO;
  program_handler_entry.store(reinterpret_cast<void*>(&on_program_signal),
                              std::memory_order_relaxed);
  return action;
}

struct sigaction to_program_action(int number, const struct sigaction& current) noexcept {
  struct sigaction action = current;
  if (!is_known(number) || (current.sa_flags & SA_SIGINFO) == 0 ||
      current.sa_sigaction != &on_program_signal) {
    return action;
  }
  const std::uint64_t word = functions[number].load(std::memory_order_acquire);
  action.sa_sigaction = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(word & ~kTakesInfo);
  if ((word & kTakesInfo) == 0) action.sa_flags &= ~SA_SIGINFO;
  return action;
}

}  // namespace swipr::handler
