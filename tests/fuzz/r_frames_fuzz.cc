// R's frames and names in a memory of any contents. The first byte selects the stack; the rest is
// the memory, which repeats, so that every address is readable.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

#include "preload/runtimes/r/r_frames.h"
#include "preload/runtimes/r/r_names.h"
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
  const RRuntime r{.innermost = kBegin, .stack_end = kBegin + (1 << 20)};
  ObjectPieces reader(memory.reader());
  walk_r(r, reader, kBegin + data[0] * 64, *tokens);
  if (tokens->added() > kMaxRContexts) std::abort();
  constexpr std::size_t kMost = 4;
  for (const Token& token : tokens->tokens().first(std::min(tokens->tokens().size(), kMost))) {
    memory.reads = 0;
    read_r_function(reader, token, *text);
    if (memory.reads > 100) std::abort();
  }
  detect_r({kBegin, kBegin + size}, kBegin, memory.reader());
  return 0;
}
