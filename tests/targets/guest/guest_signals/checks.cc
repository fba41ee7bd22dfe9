#include "tests/targets/guest/guest_signals/checks.h"

namespace guest_signals {

volatile sig_atomic_t seen = 0;
volatile sig_atomic_t seen_code = 0;
volatile sig_atomic_t seen_value = 0;
volatile sig_atomic_t seen_strange = 0;

void work(std::int64_t ns) {
  const std::int64_t until = target::thread_cpu_ns() + ns;
  std::uint64_t seed = 1;
  while (target::thread_cpu_ns() < until) seed = target::churn(seed, target::kChunk);
}

void send(int number) { kill(getpid(), number); }

void tell(const std::string& what, long value) {
  std::printf("%s: %ld\n", what.c_str(), value);
  std::fflush(stdout);
}

void on_simple(int) { seen = seen + 1; }
void on_info(int, siginfo_t* info, void*) {
  seen = seen + 1;
  seen_code = info->si_code;
  seen_value = info->si_value.sival_int;
  if (info->si_code != SI_USER && info->si_code != SI_TKILL && info->si_code != SI_QUEUE) {
    seen_strange = seen_strange + 1;
  }
}

struct sigaction make(void (*function)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = function;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  return action;
}

std::string text_of(const struct sigaction& action) {
  std::string text = action.sa_handler == SIG_DFL      ? "default"
                     : action.sa_handler == SIG_IGN    ? "ignored"
                     : action.sa_handler == on_simple  ? "on_simple"
                     : action.sa_sigaction == &on_info ? "on_info"
                                                       : "strange";
  text += ' ' + std::to_string(static_cast<unsigned>(action.sa_flags) & ~0x04000000u) + " mask";
  for (int number = 1; number <= 64; ++number) {
    if (sigismember(&action.sa_mask, number) == 1) text += ' ' + std::to_string(number);
  }
  return text;
}

void tell_disposition(const char* when, int number) {
  struct sigaction now {};
  const int result = sigaction(number, nullptr, &now);
  std::printf("%s %d: %d %s\n", when, number, result, text_of(now).c_str());
}

}  // namespace guest_signals
