// Checks of the signal state that a program can query. Each check prints its name and result; the
// output is the same with and without swipr. During each check two threads use CPU time, so that
// swipr sends signals.
// usage: guest_signals [CHECK]
#include <atomic>
#include <thread>

#include "tests/targets/guest/guest_signals/checks.h"

TARGET_FRAME std::uint64_t blocked_hot(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

namespace {

using namespace guest_signals;

struct Check {
  const char* name;
  void (*run)();
};
constexpr Check kChecks[] = {
    {"dispositions", check_dispositions},
    {"older functions", check_older_functions},
    {"foreign signals", check_foreign_signals},
    {"reset", check_reset},
    {"interruption", check_interruption},
    {"blocked", check_blocked},
    {"other signal", check_other_signal},
    {"masks", check_masks},
    {"small stack", check_small_stack},
    {"smallest stack", check_smallest_stack},
    {"longjmp", check_longjmp},
    {"profiling timer", check_profiling_timer},
    {"vfork", check_vfork},
    {"backtrace", check_backtrace},
    {"cancellation", check_cancellation},
    {"set user", check_set_user},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "inherited") == 0) {
    tell_inherited();
    return 0;
  }
  std::atomic<bool> end{false};
  // As libraries do: the new thread inherits the mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread busy([&] {
    target::name_thread("blocked");
    std::uint64_t seed = 1;
    while (!end.load()) seed = blocked_hot(seed);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const Check& check : kChecks) {
    if (argc > 1 && std::strcmp(argv[1], check.name) != 0) continue;
    std::printf("== %s\n", check.name);
    check.run();
  }
  if (argc == 1 || std::strcmp(argv[1], "exec") == 0) check_exec(argv[0]);
  std::fflush(stdout);
  end = true;
  busy.join();
  return 0;
}
