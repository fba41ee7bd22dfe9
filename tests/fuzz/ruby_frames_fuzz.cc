// Ruby's frames, names and lines in a memory of any contents. The first byte selects the version;
// the rest is the memory, which repeats, so that every address is readable.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

#include "preload/runtimes/ruby/ruby_frames.h"
#include "preload/runtimes/ruby/ruby_names.h"
#include "preload/runtimes/ruby/ruby_waits.h"
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
  const unsigned version = data[0] % 6;
  RubyRuntime ruby{.layout =
                       *find_ruby_layout(version == 0 ? 2 : 3, version == 0 ? 7 : version - 1)};
  ruby.names = kBegin + 64;
  ruby.classes.base = kBegin;
  ruby.classes.variables.fill(72);
  ObjectPieces reader(memory.reader());
  walk_ruby(ruby, reader, kBegin, *tokens);
  if (tokens->added() > kMaxRubyFrames) std::abort();
  constexpr std::size_t kMost = 4;
  for (const Token& token : tokens->tokens().first(std::min(tokens->tokens().size(), kMost))) {
    std::uint32_t line = 0;
    memory.reads = 0;
    read_ruby_function(ruby, reader, token, *text);
    read_ruby_line(ruby, reader, token, line);
    if (memory.reads > 500) std::abort();
  }
  find_listed_ruby_context(ruby, reader, kBegin);
  std::uint64_t owner = 0;
  memory.reads = 0;
  read_ruby_wait(ruby.layout, reader, kBegin, owner);
  if (memory.reads > kMaxRubyWaiters * 5) std::abort();
  ruby.collector.code = {kBegin, kBegin + 64};
  memory.reads = 0;
  find_ruby_collector(ruby, reader, kBegin + 64);
  if (memory.reads > 500) std::abort();
  if (ruby.collector.flag != 0) walk_ruby(ruby, reader, kBegin, *tokens);
  detect_ruby({kBegin, kBegin + size}, kBegin, memory.reader());
  start_ruby(ruby, kBegin, kBegin, memory.reader());
  return 0;
}
