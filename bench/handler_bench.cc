// Times the signal handler from entry to return, in the innermost of 30 distinct functions without
// frame pointers. The kernel calls it for a signal that is sent as the agent does. A handler of the
// benchmark around it reads the clock.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "preload/handler/signal_handler.h"
#include "preload/handler/slots.h"
#include "tests/unit/preload/unwind/chain.h"
#include "tests/unit/preload/unwind/self_map.h"

namespace swipr::handler {
namespace {

using SignalAction = void (*)(int, siginfo_t*, void*);
SignalAction own_handler = nullptr;
std::uint64_t cycles = 0;

void measure(int number, siginfo_t* info, void* context) {
  const std::uint64_t begin = __rdtsc();
  own_handler(number, info, context);
  cycles = __rdtsc() - begin;
}

double cycles_per_ns() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const std::uint64_t first = __rdtsc();
  while (Clock::now() - begin < std::chrono::milliseconds(50)) {
  }
  const std::uint64_t last = __rdtsc();
  return static_cast<double>(last - first) /
         std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

void wrap_handler() {
  struct sigaction action {};
  ::sigaction(SIGURG, nullptr, &action);
  own_handler = action.sa_sigaction;
  action.sa_sigaction = &measure;
  ::sigaction(SIGURG, &action, nullptr);
}

void answer_signals(benchmark::State& state) {
  unwind::SelfMap map;
  const unwind::CodeMap code = map.cached_code_map();
  const auto slots = std::make_unique<Slot[]>(kSlotCount);
  shared.slots = slots.get();
  shared.code_map = &code;
  install_handler(SIGURG);
  wrap_handler();
  const Pid process{::getpid()};
  const Tid thread{::gettid()};
  const double rate = cycles_per_ns();
  std::vector<double> times;
  for ([[maybe_unused]] auto _ : state) {
    const Cookie cookie{.sequence = times.size() + 1, .slot = 0};
    arm_slot(slots[0], cookie.sequence);
    if (!send_signal(process, thread, cookie)) state.SkipWithError("the kernel refused");
    times.push_back(static_cast<double>(cycles) / rate);
  }
  std::sort(times.begin(), times.end());
  state.counters["frames"] = slots[0].frames.frame_count;
  state.counters["p50_ns"] = times[times.size() / 2];
  state.counters["p99_ns"] = times[times.size() * 99 / 100];
  ::signal(SIGURG, SIG_DFL);
  forget_after_fork();
}

void handler(benchmark::State& state) {
  std::thread([&state] {
    unwind::call_through_chain(
        [](void* data) { answer_signals(*static_cast<benchmark::State*>(data)); }, &state);
  }).join();
}
BENCHMARK(handler)->Name("handler/entry_to_return")->Iterations(20000);

}  // namespace
}  // namespace swipr::handler

BENCHMARK_MAIN();
