// What the signal handler pays for the frames of Python, beyond its native walk: an interpreter in
// this process calls back at a known depth, and the frames of this thread are read there as the
// handler reads them.
// usage: python_bench [LIBRARY]     (default: libpython3.11.so.1.0)
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/python/python_layout.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {
namespace {

PythonRuntime python;

[[noreturn]] void fail(const char* text) {
  std::fprintf(stderr, "python_bench: %s\n", text);
  std::exit(1);
}

bool read_own_memory(void*, std::uint64_t address, std::span<std::byte> out) noexcept {
  std::memcpy(out.data(), reinterpret_cast<const void*>(address), out.size());
  return true;
}

int detect(dl_phdr_info* info, std::size_t, void*) {
  for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (header.p_type != PT_DYNAMIC) continue;
    const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
    const PythonDetection found = detect_python({begin, begin + header.p_memsz}, info->dlpi_addr,
                                                {&read_own_memory, nullptr});
    if (found.state == DetectionState::kRefused) fail(found.reason);
    if (found.state == DetectionState::kFound) python = found.runtime;
  }
  return 0;
}

ThreadIdentity identity() {
  return {.tid = static_cast<std::uint64_t>(::syscall(SYS_gettid)),
          .pthread = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer())};
}

// As the control thread does once.
PythonThreadStates find_states() {
  PageCache pages;
  ProbedObjects memory(pages);
  return find_python_states(python, memory, identity(), PythonThreadStates::kMost);
}

// As handler::take_tokens does.
std::uint32_t take_tokens(PageCache& pages, TokenBuffer& tokens, const PythonThreadStates& states) {
  const ThreadIdentity thread = identity();
  pages.clear();
  ProbedObjects memory(pages);
  walk_python(python, memory, keep_python_states(python, memory, thread, states), tokens);
  return tokens.added();
}

benchmark::State* current = nullptr;

// Called by Python.
void measure() {
  const auto pages = std::make_unique<PageCache>();
  const auto tokens = std::make_unique<TokenBuffer>();
  const PythonThreadStates states = find_states();
  if (take_tokens(*pages, *tokens, states) == 0) return current->SkipWithError("no frames");
  for ([[maybe_unused]] auto _ : *current) {
    benchmark::DoNotOptimize(take_tokens(*pages, *tokens, states));
  }
  current->counters["frames"] = tokens->added();
  current->counters["questions"] = pages->questions();
}

int (*execute)(const char*) = nullptr;

void at_depth(benchmark::State& run) {
  current = &run;
  const std::string script = "fall(" + std::to_string(run.range(0) - 1) + ")";
  if (execute(script.c_str()) != 0) run.SkipWithError("the script failed");
}
BENCHMARK(at_depth)->Arg(5)->Arg(20)->Arg(100);

}  // namespace
}  // namespace swipr::runtimes

int main(int argc, char** argv) {
  using namespace swipr::runtimes;
  benchmark::Initialize(&argc, argv);
  const char* const library = argc > 1 ? argv[1] : "libpython3.11.so.1.0";
  void* const image = ::dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (image == nullptr) fail(::dlerror());
  using Start = void (*)(int);
  const auto start = reinterpret_cast<Start>(::dlsym(image, "Py_InitializeEx"));
  execute = reinterpret_cast<int (*)(const char*)>(::dlsym(image, "PyRun_SimpleString"));
  if (start == nullptr || execute == nullptr) fail("not a library of Python");
  ::dl_iterate_phdr(&detect, nullptr);
  if (python.runtime == 0) fail("no interpreter was found");
  start(0);
  const std::string address = std::to_string(reinterpret_cast<std::uintptr_t>(&measure));
  const std::string script =
      "import ctypes\n"
      "call = ctypes.CFUNCTYPE(None)(" +
      address +
      ")\n"
      "def fall(n):\n"
      "    if n > 1: fall(n - 1)\n"
      "    else: call()\n";
  if (execute(script.c_str()) != 0) fail("the script failed");
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
