// What the signal handler pays for the frames of PHP, beyond its native walk: an interpreter in
// this process calls back at a known depth, and its frames are read there as the handler reads
// them.
// usage: php_bench [LIBRARY]     (default: libphp8.2.so)
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/php/php_frames.h"
#include "preload/runtimes/php/php_layout.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {
namespace {

PhpRuntime php;

[[noreturn]] void fail(const char* text) {
  std::fprintf(stderr, "php_bench: %s\n", text);
  std::exit(1);
}

// Probes each page, because an image need not have the headers that are looked for.
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
    const PhpDetection found = detect_php(info->dlpi_addr, {begin, begin + header.p_memsz},
                                          info->dlpi_addr, {&read_own_memory, nullptr});
    if (found.state == DetectionState::kRefused) fail(found.reason);
    if (found.state == DetectionState::kFound) php = found.runtime;
  }
  return 0;
}

// As handler::take_tokens does.
std::uint32_t take_tokens(PageCache& pages, TokenBuffer& tokens) {
  pages.clear();
  ProbedObjects memory(pages);
  walk_php(php, memory, {}, tokens);
  return tokens.added();
}

benchmark::State* current = nullptr;

// Called by PHP, to write output.
std::size_t measure(const char*, std::size_t size) {
  const auto pages = std::make_unique<PageCache>();
  const auto tokens = std::make_unique<TokenBuffer>();
  if (take_tokens(*pages, *tokens) == 0) {
    current->SkipWithError("no frames");
    return size;
  }
  for ([[maybe_unused]] auto _ : *current) {
    benchmark::DoNotOptimize(take_tokens(*pages, *tokens));
  }
  current->counters["frames"] = tokens->added();
  current->counters["questions"] = pages->questions();
  return size;
}

int (*execute)(const char*, void*, const char*) = nullptr;

// `way`: the beginning of the function's name.
void run_script(benchmark::State& run, const char* way) {
  current = &run;
  // The text itself is a frame.
  const std::string script = way + ("fall(" + std::to_string(run.range(0) - 1) + ");");
  if (execute(script.c_str(), nullptr, "bench") != 0) run.SkipWithError("the script failed");
}
void at_depth(benchmark::State& run) { run_script(run, ""); }
void methods_at_depth(benchmark::State& run) { run_script(run, "App\\Falling::"); }
BENCHMARK(at_depth)->Arg(5)->Arg(20)->Arg(100);
BENCHMARK(methods_at_depth)->Arg(5)->Arg(20)->Arg(100);

}  // namespace
}  // namespace swipr::runtimes

int main(int argc, char** argv) {
  using namespace swipr::runtimes;
  benchmark::Initialize(&argc, argv);
  const char* const library = argc > 1 ? argv[1] : "libphp8.2.so";
  void* const image = ::dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (image == nullptr) fail(::dlerror());
  const auto start = reinterpret_cast<int (*)(int, char**)>(::dlsym(image, "php_embed_init"));
  execute = reinterpret_cast<decltype(execute)>(::dlsym(image, "zend_eval_string"));
  auto* const module = static_cast<void**>(::dlsym(image, "php_embed_module"));
  if (start == nullptr || execute == nullptr || module == nullptr) fail("not a library of PHP");
  ::dl_iterate_phdr(&detect, nullptr);
  if (php.current_frame == 0) fail("no interpreter was found");
  constexpr int kWrite = 6;  // ub_write of sapi_module_struct
  module[kWrite] = reinterpret_cast<void*>(&measure);
  if (start(0, nullptr) != 0) fail("PHP does not start");
  const char* const script =
      "function fall($n) { if ($n > 1) fall($n - 1); else echo 'x'; }\n"
      "eval('namespace App; class Falling { static function fall($n) {"
      " if ($n > 1) self::fall($n - 1); else echo \"x\"; } }');";
  if (execute(script, nullptr, "bench") != 0) fail("the script failed");
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
