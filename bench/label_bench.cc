// What a label of include/swipr/swipr.h costs the thread that sets it, and the handler that copies
// it. `Absent`: as in a program without the preload.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include "include/swipr/swipr.h"
#include "preload/labels/thread_labels.h"

namespace {

// 8 labels, so that the search for a key is as long as it can be.
void set_others() {
  swipr::labels::set_owner(::getpid());
  for (const char* key : {"a", "b", "c", "d", "e", "f", "g"}) swipr_set_label(key, "value");
}

void set_label(benchmark::State& state, const char* value, const char* other) {
  set_others();
  if (swipr_set_label("endpoint", value) != 0) state.SkipWithError("labels are not found");
  for (auto _ : state) {
    swipr_set_label("endpoint", value);
    swipr_set_label("endpoint", other);
  }
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK_CAPTURE(set_label, Short, "/cart", "/home");
BENCHMARK_CAPTURE(set_label, TraceId, "4bf92f3577b34da6a3ce929d0e0e4736",
                  "00f067aa0ba902b700f067aa0ba902b7");

void set_only_label(benchmark::State& state) {
  swipr::labels::set_owner(::getpid());
  for (const char* key : {"a", "b", "c", "d", "e", "f", "g"}) swipr_set_label(key, nullptr);
  for (auto _ : state) {
    swipr_set_label("endpoint", "/cart");
    swipr_set_label("endpoint", "/home");
  }
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(set_only_label);

void scope(benchmark::State& state) {
  set_others();
  for (auto _ : state) swipr::Label label("endpoint", "/cart");
}
BENCHMARK(scope);

void copy_in_the_handler(benchmark::State& state) {
  set_others();
  swipr::labels::LabelSet set;
  for (auto _ : state) {
    swipr::labels::copy_own_labels(set);
    benchmark::DoNotOptimize(set);
  }
}
BENCHMARK(copy_in_the_handler);

void set_label_absent(benchmark::State& state) {
  const swipr_label_functions* const found = swipr_labels;
  swipr_labels = nullptr;
  for (auto _ : state) {
    benchmark::DoNotOptimize(swipr_set_label("endpoint", "/cart"));
    benchmark::ClobberMemory();
  }
  swipr_labels = found;
}
BENCHMARK(set_label_absent);

}  // namespace

BENCHMARK_MAIN();
