// Compares the walk with libunwind on the same stack, and measures the build of a table.
#define UNW_LOCAL_ONLY
#include <benchmark/benchmark.h>
#include <libunwind.h>
#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/table/unwind_table.h"
#include "preload/unwind/walk/page_probe_reader.h"
#include "tests/unit/preload/unwind/chain.h"
#include "tests/unit/preload/unwind/mapped_file.h"
#include "tests/unit/preload/unwind/self_map.h"

namespace swipr::unwind {
namespace {

void per_frame(benchmark::State& state, std::size_t frames) {
  state.counters["frames"] = static_cast<double>(frames);
  state.counters["per_frame"] = benchmark::Counter(
      static_cast<double>(frames),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Each benchmark runs in the innermost of kChainLength distinct functions, in a thread of its own:
// the only other frames are those of libstdc++ and libc.
template <void (*kBody)(benchmark::State&)>
void in_chain(benchmark::State& state) {
  std::thread([&state] {
    call_through_chain([](void* data) { kBody(*static_cast<benchmark::State*>(data)); }, &state);
  }).join();
}

enum class Probes { kFirstPageKnown, kNoPageKnown };

template <bool kCached, Probes kProbes>
void walk_probed(benchmark::State& state) {
  SelfMap map;
  const CodeMap code = kCached ? map.cached_code_map() : map.code_map();
  const auto frames = std::make_unique<FrameBuffer>();
  ucontext_t context;
  unw_getcontext(&context);
  const Registers registers = registers_of(context);
  for ([[maybe_unused]] auto _ : state) {
    // The handler knows that the page of the stack pointer is readable; each further one needs a
    // probe.
    PageProbeReader reader = kProbes == Probes::kFirstPageKnown
                                 ? PageProbeReader(registers.values[kRsp])
                                 : PageProbeReader();
    benchmark::DoNotOptimize(walk(code, registers, reader, *frames));
  }
  per_frame(state, frames->frame_count);
}
BENCHMARK(in_chain<&walk_probed<true, Probes::kFirstPageKnown>>)->Name("walk/page_probe_reader");
BENCHMARK(in_chain<&walk_probed<true, Probes::kNoPageKnown>>)
    ->Name("walk/page_probe_reader/one_page_more");
BENCHMARK(in_chain<&walk_probed<false, Probes::kFirstPageKnown>>)
    ->Name("walk/page_probe_reader/no_rule_cache");

// 64 MB are touched before each walk: neither tables, nor rule cache, nor stack are in the
// processor's caches.
void walk_cold(benchmark::State& state) {
  SelfMap map;
  const CodeMap code = map.cached_code_map();
  const auto frames = std::make_unique<FrameBuffer>();
  ucontext_t context;
  unw_getcontext(&context);
  const Registers registers = registers_of(context);
  std::vector<std::uint64_t> other(std::size_t{64} << 17, 1);
  std::vector<double> times;
  for ([[maybe_unused]] auto _ : state) {
    for (std::size_t at = 0; at < other.size(); at += 8) ++other[at];
    benchmark::ClobberMemory();
    const auto begin = std::chrono::steady_clock::now();
    PageProbeReader reader(registers.values[kRsp]);
    benchmark::DoNotOptimize(walk(code, registers, reader, *frames));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(time.count());
    times.push_back(1e9 * time.count());
  }
  per_frame(state, frames->frame_count);
  // The mean includes times when another program had the processor.
  std::sort(times.begin(), times.end());
  state.counters["p50_ns"] = times[times.size() / 2];
}
BENCHMARK(in_chain<&walk_cold>)->Name("walk/cold")->UseManualTime()->Iterations(300);

bool read_directly(void*, std::uint64_t address, std::uint64_t& out) noexcept {
  out = *reinterpret_cast<const std::uint64_t*>(address);
  return true;
}

void walk_function_reader(benchmark::State& state) {
  SelfMap map;
  const CodeMap code = map.cached_code_map();
  const auto frames = std::make_unique<FrameBuffer>();
  ucontext_t context;
  unw_getcontext(&context);
  const Registers registers = registers_of(context);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(walk(code, registers, StackReader{&read_directly, nullptr}, *frames));
  }
  per_frame(state, frames->frame_count);
}
BENCHMARK(in_chain<&walk_function_reader>)->Name("walk/stack_reader");

void probe_page(benchmark::State& state) {
  const auto page = reinterpret_cast<std::uint64_t>(&state) & ~(kPageBytes - 1);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(is_page_readable(page));
}
BENCHMARK(probe_page);

void libunwind_step(benchmark::State& state) {
  ucontext_t context;
  unw_getcontext(&context);
  std::size_t frames = 0;
  for ([[maybe_unused]] auto _ : state) {
    unw_cursor_t cursor;
    unw_init_local(&cursor, &context);
    frames = 0;
    do {
      unw_word_t pc = 0;
      unw_get_reg(&cursor, UNW_REG_IP, &pc);
      benchmark::DoNotOptimize(pc);
      ++frames;
    } while (unw_step(&cursor) > 0);
  }
  per_frame(state, frames);
}
BENCHMARK(in_chain<&libunwind_step>)->Name("libunwind/unw_step");

void libunwind_backtrace(benchmark::State& state) {
  void* frames[256];
  int count = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(count = unw_backtrace(frames, 256));
  }
  per_frame(state, static_cast<std::size_t>(count));
}
BENCHMARK(in_chain<&libunwind_backtrace>)->Name("libunwind/unw_backtrace");

void build(benchmark::State& state, const std::string& name) {
  MappedFile file("/usr/lib/x86_64-linux-gnu/" + name);
  if (!file.is_open()) {
    state.SkipWithError("not installed");
    return;
  }
  double rows = 0;
  double bytes = 0;
  for ([[maybe_unused]] auto _ : state) {
    const BuildResult built = build_table(file.elf_header(), file.reader());
    rows = built.table->row_count;
    bytes = static_cast<double>(table_memory_bytes(built.table));
    destroy_table(built.table);
  }
  const double megabytes = static_cast<double>(file.section_bytes(".eh_frame")) / 1e6;
  state.counters["eh_frame_MB"] = megabytes;
  state.counters["per_MB"] = benchmark::Counter(
      megabytes, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes_per_row"] = bytes / rows;
}
BENCHMARK_CAPTURE(build, libc, "libc.so.6")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(build, libcrypto, "libcrypto.so.3")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(build, libLLVM, "libLLVM-14.so.1")->Unit(benchmark::kMillisecond);

// 64 KiB of code in the middle: what a walk builds that meets it.
void build_part_of(benchmark::State& state, const std::string& name) {
  MappedFile file("/usr/lib/x86_64-linux-gnu/" + name);
  if (!file.is_open()) {
    state.SkipWithError("not installed");
    return;
  }
  const BuildResult image = describe_image(file.elf_header(), file.reader());
  const std::uint64_t begin = image.text.begin + (image.text.end - image.text.begin) / 2;
  double functions = 0;
  for ([[maybe_unused]] auto _ : state) {
    const UnwindTable* table = nullptr;
    if (build_part(image, {begin, begin + 0x10000}, file.reader(), table) != BuildStatus::kOk) {
      state.SkipWithError("no table");
      return;
    }
    functions = table->function_count;
    destroy_table(table);
  }
  state.counters["functions"] = functions;
}
BENCHMARK_CAPTURE(build_part_of, libc, "libc.so.6")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(build_part_of, libcrypto, "libcrypto.so.3")->Unit(benchmark::kMicrosecond);

// The lower bound, without interpretation: the section is copied and as many rows are written, to
// memory that the kernel allocates and frees.
void build_floor(benchmark::State& state, const std::string& name) {
  MappedFile file("/usr/lib/x86_64-linux-gnu/" + name);
  if (!file.is_open()) {
    state.SkipWithError("not installed");
    return;
  }
  const BuildResult built = build_table(file.elf_header(), file.reader());
  const std::size_t rows = built.table->row_count;
  destroy_table(built.table);
  const std::vector<std::byte> section(file.section_bytes(".eh_frame"), std::byte{1});
  for ([[maybe_unused]] auto _ : state) {
    GrowableArray<std::byte> copy;
    GrowableArray<std::uint32_t> addresses;
    GrowableArray<std::uint16_t> rules;
    if (!copy.append(section) || !addresses.reserve(rows) || !rules.reserve(rows)) std::abort();
    for (std::size_t row = 0; row < rows; ++row) {
      addresses.push_back_reserved(static_cast<std::uint32_t>(row));
      rules.push_back_reserved(static_cast<std::uint16_t>(row));
    }
    benchmark::DoNotOptimize(copy.span().data());
    benchmark::DoNotOptimize(addresses.span().data());
    benchmark::DoNotOptimize(rules.span().data());
    benchmark::ClobberMemory();
  }
  state.counters["per_MB"] = benchmark::Counter(
      static_cast<double>(section.size()) / 1e6,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(build_floor, libc, "libc.so.6")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(build_floor, libcrypto, "libcrypto.so.3")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(build_floor, libLLVM, "libLLVM-14.so.1")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace swipr::unwind

BENCHMARK_MAIN();
