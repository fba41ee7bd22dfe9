// Lua's readers on memory of random contents: they end, stay inside their bounds and invent
// nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <utility>

#include "preload/runtimes/lua/lua_frames.h"
#include "preload/runtimes/lua/lua_names.h"
#include "tests/unit/preload/runtimes/random_memory.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kLuaBegin = 0x7f00'0000'0000;
constexpr Range<std::uint64_t> kLuaLoop = {0x5500'0000, 0x5501'0000};

// Most words are addresses again; some are types of objects and small numbers.
RandomMemory random_lua_memory(std::uint64_t seed) {
  const auto make_word = [](std::mt19937_64& random) -> std::uint64_t {
    constexpr std::array kTypes = {kLuaShortText, kLuaFunction, kLuaThread, kLuaCodeType};
    switch (random() % 8) {
      case 0:
        return random();
      case 1:
        return kTypes[random() % kTypes.size()];
      case 2:
        return kLuaFunction | kLuaIsObject;
      case 3:
        return random() % 64;
      default:
        return kLuaBegin + random() % (1 << 20) * 8;
    }
  };
  return {seed, make_word, [](std::uint64_t address) { return address % 7 == 6; }};
}

// Stacks as they can be: one thread of Lua has the rest of its memory random.
TEST(RandomMemory, OfLuaIsReadWithinBounds) {
  constexpr std::uint64_t kMaxReads = 12 * (kMaxLuaCalls + 2 * kOuterLuaCalls);
  const auto text = std::make_unique<FunctionText>();
  const auto tokens = std::make_unique<TokenBuffer>();
  std::uint64_t reads = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RandomMemory memory = random_lua_memory(seed);
    ObjectPieces reader(memory.reader());
    std::array<std::uint64_t, 32> pcs{};
    std::array<std::uint64_t, 32> stacks{};
    for (std::size_t at = 0; at < pcs.size(); ++at) {
      pcs[at] = kLuaLoop.begin + memory.random()() % 0x20000;
      stacks[at] = kLuaBegin + at * 256;
    }
    LuaProtection protection{seed % 2 == 0 ? 0 : memory.random()()};
    walk_lua({.loop = kLuaLoop}, reader.image_reader(), {.pcs = pcs, .stacks = stacks}, protection,
             *tokens);
    EXPECT_LE(memory.reads, kMaxReads);
    reads += std::exchange(memory.reads, 0);
    const Token token{.code = kLuaBegin + memory.random()() % 4096 * 8,
                      .fingerprint = memory.random()(),
                      .kind = TokenKind::kLua};
    EXPECT_FALSE(read_lua_function(reader, token, *text));
    EXPECT_LE(memory.reads, 100u);
  }
  EXPECT_GT(reads, 20'000u);  // else the test would read nothing
}

TEST(RandomMemory, MakesNoLuaOfAnImage) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomMemory memory = random_lua_memory(seed);
    EXPECT_NE(
        detect_lua(kLuaBegin, {kLuaBegin, kLuaBegin + 0x400}, kLuaBegin, memory.reader()).state,
        DetectionState::kFound);
  }
}

}  // namespace
}  // namespace swipr::runtimes
