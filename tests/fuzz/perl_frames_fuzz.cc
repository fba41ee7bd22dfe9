// Perl's frames and names in a memory of any contents. The first byte selects the version; the rest
// is the memory, which repeats, so that every address is readable.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

#include "preload/runtimes/perl/perl_frames.h"
#include "preload/runtimes/perl/perl_names.h"
#include "tests/fuzz/repeating_memory.h"

namespace {

using namespace swipr::runtimes;

constexpr std::uint64_t kBegin = 0x7f00'0000'0000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 64) return 0;
  RepeatingMemory memory{std::as_bytes(std::span(data, size)).subspan(1)};
  static const auto tokens = std::make_unique<TokenBuffer>();
  static const auto text = std::make_unique<FunctionText>();
  const PerlRuntime perl{.first_interpreter = kBegin,
                         .next_statement = kBegin + 8,
                         .loop = {},
                         .layout = {0, 8, 16, data[0] % 2 != 0},
                         .interpreter_at = 0};
  ObjectPieces reader(memory.reader());
  walk_perl(perl, reader, kBegin, *tokens);
  if (tokens->added() > kMaxPerlContexts + 1) std::abort();
  constexpr std::size_t kMost = 4;
  for (const Token& token : tokens->tokens().first(std::min(tokens->tokens().size(), kMost))) {
    memory.reads = 0;
    read_perl_function(perl.layout, reader, token, *text);
    if (memory.reads > 100) std::abort();
  }
  PerlDetection found = detect_perl({kBegin, kBegin + size}, kBegin, memory.reader());
  found.runtime = perl;
  start_perl(found, kBegin, memory.reader());
  return 0;
}
