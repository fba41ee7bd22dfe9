// PHP's frames and names in a memory of any contents. The first byte selects the version; the rest
// is the memory, which repeats, so that every address is readable.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>

#include "preload/runtimes/php/php_frames.h"
#include "preload/runtimes/php/php_names.h"
#include "tests/fuzz/repeating_memory.h"

namespace {

using namespace swipr::runtimes;

constexpr std::uint64_t kBegin = 0x7f00'0000'0000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kVersions[] = {20190902, 20200930, 20210902,
                                         20220829, 20230831, 20240924};
  if (size < 64) return 0;
  RepeatingMemory memory{std::as_bytes(std::span(data, size)).subspan(1)};
  static const auto tokens = std::make_unique<TokenBuffer>();
  static const auto text = std::make_unique<FunctionText>();
  const PhpRuntime php{.layout = *find_php_layout(kVersions[data[0] % std::size(kVersions)]),
                       .current_frame = kBegin,
                       .loop = {}};
  ObjectPieces reader(memory.reader());
  walk_php(php, reader, {kBegin, kBegin + 32}, *tokens);
  if (tokens->added() > kMaxPhpFrames) std::abort();
  constexpr std::size_t kMost = 4;
  for (const Token& token : tokens->tokens().first(std::min(tokens->tokens().size(), kMost))) {
    memory.reads = 0;
    read_php_function(reader, token, *text);
    if (memory.reads > 100) std::abort();
  }
  detect_php(kBegin, {kBegin, kBegin + size}, kBegin, memory.reader());
  return 0;
}
