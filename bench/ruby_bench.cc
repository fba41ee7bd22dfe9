// What the signal handler pays for the frames of Ruby, beyond its native walk: an interpreter in
// this process calls back at a known depth, and the frames of this thread are read there as the
// handler reads them.
// usage: ruby_bench [LIBRARY]     (default: libruby-3.1.so.3.1)
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/ruby/ruby_frames.h"
#include "preload/runtimes/ruby/ruby_layout.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {
namespace {

using Value = std::uint64_t;  // Ruby's VALUE
constexpr Value kNil = 8;     // in 2.7 to 3.1, and false for benchmarks in all

RubyRuntime ruby;
std::uint64_t image_header = 0;

[[noreturn]] void fail(const char* text) {
  std::fprintf(stderr, "ruby_bench: %s\n", text);
  std::exit(1);
}

// Probes each page, because the search for the thread's variable reads what may be no memory.
bool read_own_memory(void*, std::uint64_t address, std::span<std::byte> out) noexcept {
  PageCache pages;
  ProbedObjects memory(pages);
  for (std::byte& byte : out) {
    if (!memory.read_value(address++, byte)) return false;
  }
  return true;
}

int detect(dl_phdr_info* info, std::size_t, void*) {
  for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (header.p_type != PT_DYNAMIC) continue;
    const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
    const RubyDetection found =
        detect_ruby({begin, begin + header.p_memsz}, info->dlpi_addr, {&read_own_memory, nullptr});
    if (found.state == DetectionState::kRefused) fail(found.reason);
    if (found.state != DetectionState::kFound) continue;
    ruby = found.runtime;
    image_header = info->dlpi_addr;
  }
  return 0;
}

std::uint64_t thread_pointer() {
  return reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
}

// As handler::take_tokens does.
std::uint32_t take_tokens(PageCache& pages, TokenBuffer& tokens) {
  pages.clear();
  ProbedObjects memory(pages);
  const std::uint64_t context = find_ruby_context(ruby, memory, thread_pointer());
  tokens.clear();
  if (context != 0) walk_ruby(ruby, memory, context, tokens);
  return tokens.added();
}

benchmark::State* current = nullptr;

// Called by Ruby.
Value measure(Value) {
  const auto pages = std::make_unique<PageCache>();
  const auto tokens = std::make_unique<TokenBuffer>();
  const bool is_started = ruby.loop.begin != 0 || start_ruby(ruby, image_header, thread_pointer(),
                                                             {&read_own_memory, nullptr});
  if (!is_started || take_tokens(*pages, *tokens) == 0) {
    current->SkipWithError("no frames");
    return kNil;
  }
  for ([[maybe_unused]] auto _ : *current) {
    benchmark::DoNotOptimize(take_tokens(*pages, *tokens));
  }
  current->counters["frames"] = tokens->added();
  current->counters["questions"] = pages->questions();
  return kNil;
}

Value (*execute)(const char*, int*) = nullptr;

void at_depth(benchmark::State& run) {
  current = &run;
  int error = 0;
  // The frame of the text itself is one.
  execute(("fall(" + std::to_string(run.range(0) - 1) + ")").c_str(), &error);
  if (error != 0) run.SkipWithError("the script failed");
}
BENCHMARK(at_depth)->Arg(5)->Arg(20)->Arg(100);

}  // namespace
}  // namespace swipr::runtimes

int main(int argc, char** argv) {
  using namespace swipr::runtimes;
  benchmark::Initialize(&argc, argv);
  const char* const library = argc > 1 ? argv[1] : "libruby-3.1.so.3.1";
  void* const image = ::dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (image == nullptr) fail(::dlerror());
  using Start = void (*)();
  using Define = void (*)(const char*, Value (*)(Value), int);
  const auto start = reinterpret_cast<Start>(::dlsym(image, "ruby_init"));
  const auto define = reinterpret_cast<Define>(::dlsym(image, "rb_define_global_function"));
  execute = reinterpret_cast<decltype(execute)>(::dlsym(image, "rb_eval_string_protect"));
  if (start == nullptr || define == nullptr || execute == nullptr) fail("not a library of Ruby");
  ::dl_iterate_phdr(&detect, nullptr);
  if (image_header == 0) fail("no interpreter was found");
  start();
  define("call", &measure, 0);
  int error = 0;
  execute("def fall(n); n > 1 ? fall(n - 1) : call; end", &error);
  if (error != 0) fail("the script failed");
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
