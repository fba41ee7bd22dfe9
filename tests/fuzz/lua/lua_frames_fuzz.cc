// Lua's frames and names in a memory of any contents. The first two bytes select where the native
// frames of loops and protected calls are; the rest is the memory, which repeats, so that every
// address is readable.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <span>

#include "preload/runtimes/lua/lua_frames.h"
#include "preload/runtimes/lua/lua_names.h"
#include "tests/fuzz/lua/found_function.h"
#include "tests/fuzz/repeating_memory.h"

namespace {

using namespace swipr::runtimes;

constexpr std::uint64_t kBegin = 0x7f00'0000'0000;
constexpr swipr::Range<std::uint64_t> kLoop = {0x5500'0000, 0x5500'1000};
constexpr std::uint64_t kFrameBytes = 512;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 64) return 0;
  RepeatingMemory memory{std::as_bytes(std::span(data, size)).subspan(2)};
  static const auto tokens = std::make_unique<TokenBuffer>();
  static const auto text = std::make_unique<FunctionText>();
  std::array<std::uint64_t, 8> pcs{};
  std::array<std::uint64_t, 8> stacks{};
  for (std::size_t at = 0; at < pcs.size(); ++at) {
    pcs[at] = (data[0] >> at & 1) != 0 ? kLoop.begin + 8 : kLoop.end + 8;
    stacks[at] = kBegin + at * kFrameBytes;
  }
  // In every second input the places in frames of protected calls are known.
  LuaProtection protection{data[1] % 2 == 0 ? 0
                                            : 0x1008ull << 32 | std::uint64_t{data[1]} << 16 | 32};
  ObjectPieces reader(memory.reader());
  walk_lua({.loop = kLoop}, reader.image_reader(), {.pcs = pcs, .stacks = stacks}, protection,
           *tokens);
  if (tokens->added() > kMaxLuaCalls + kOuterLuaCalls) std::abort();
  constexpr std::size_t kMost = 4;
  for (Token token : tokens->tokens().first(std::min(tokens->tokens().size(), kMost))) {
    std::uint32_t line = 0;
    read_lua_function(reader, token, *text);
    read_lua_line(reader, token, line);
  }
  // As if it had been found there.
  LuaCode code;
  if (!reader.read_value(kBegin, code)) return 0;
  const Token token = token_of_function(kBegin, fingerprint_of(code), data[1]);
  memory.reads = 0;
  std::uint32_t line = 0;
  read_lua_function(reader, token, *text);
  read_lua_line(reader, token, line);
  if (memory.reads > 3 * kMaxLuaSteps) std::abort();
  detect_lua(kBegin, {kBegin, kBegin + size}, kBegin, memory.reader());
  return 0;
}
