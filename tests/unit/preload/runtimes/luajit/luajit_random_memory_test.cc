// LuaJIT's readers on memory of random contents: they end, stay inside their bounds and invent
// nothing.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <utility>

#include "preload/runtimes/luajit/luajit_frames.h"
#include "preload/runtimes/luajit/luajit_names.h"
#include "tests/unit/preload/runtimes/random_memory.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kLuaJitBegin = 0x7f00'0000'0000;
constexpr Range<std::uint64_t> kLuaJitLoop = {0x5500'0000, 0x5501'0000};

// Most words are addresses again; some are the heads of objects and small numbers.
RandomMemory random_luajit_memory(std::uint64_t seed) {
  const auto make_word = [](std::mt19937_64& random) -> std::uint64_t {
    constexpr std::array<std::uint64_t, 4> kTypes = {kLuaJitText, kLuaJitThread, kLuaJitCodeType,
                                                     kLuaJitFunctionType};
    switch (random() % 8) {
      case 0:
        return random();
      case 1:
      case 2:
        return kTypes[random() % kTypes.size()] << 8 | (random() % 64) << 32;
      case 3:
        return random() % 64;
      default:
        return kLuaJitBegin + random() % (1 << 20) * 8;
    }
  };
  return {seed, make_word, [](std::uint64_t address) { return address % 7 == 6; }};
}

bool read_word(void* state, std::uint64_t address, std::uint64_t& out) noexcept {
  return static_cast<RandomMemory*>(state)->reader().read_value(address, out);
}

TEST(RandomMemory, OfLuaJitIsReadWithinBounds) {
  constexpr std::uint64_t kMaxReads = 200 * 64 + 10 * kMaxLuaCalls;
  const std::array ranges = {unwind::CodeRange{.start = 1, .end = ~std::uint64_t{0}}};
  const unwind::CodeMap map(ranges);
  const LuaRuntime lua{.loop = kLuaJitLoop, .is_jit = true};
  const auto text = std::make_unique<FunctionText>();
  const auto tokens = std::make_unique<TokenBuffer>();
  std::uint64_t reads = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RandomMemory memory = random_luajit_memory(seed);
    ObjectPieces reader(memory.reader());
    tokens->clear();
    LuaJitWalk walk(lua, map, tokens.get(), seed % 4 == 0 ? kLuaJitBegin : ~std::uint64_t{0});
    unwind::Registers registers;
    registers.known = seed % 2 == 0 ? unwind::kAllRegisters : unwind::kCallersRegisters;
    for (std::uint64_t& value : registers.values) {
      value = kLuaJitBegin + memory.random()() % 4096 * 8;
    }
    if (seed % 3 != 0) registers.known &= ~unwind::bit_of(unwind::kFrameRegister);
    registers.values[unwind::kFrameRegister] =
        registers.values[unwind::kStackRegister] + kLuaJitFrameRecord + memory.random()() % 16 * 8;
    registers.values[unwind::kPcRegister] = kLuaJitLoop.begin + memory.random()() % 0x20000;
    walk.step(registers, seed % 3 == 0, {{&read_word, &memory}, reader.image_reader()});
    EXPECT_LE(memory.reads, kMaxReads);
    EXPECT_LE(tokens->added(), kMaxLuaCalls);
    reads += std::exchange(memory.reads, 0);
    const Token token{.code = kLuaJitBegin + memory.random()() % 4096 * 8,
                      .fingerprint = memory.random()(),
                      .kind = TokenKind::kLua};
    EXPECT_FALSE(read_luajit_function(reader, token, *text));
    EXPECT_LE(memory.reads, 100u);
  }
  EXPECT_GT(reads, 10'000u);  // else the test would read nothing
}

TEST(RandomMemory, MakesNoLuaJitOfAnImage) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomMemory memory = random_luajit_memory(seed);
    EXPECT_NE(detect_luajit(kLuaJitBegin, {kLuaJitBegin, kLuaJitBegin + 0x400}, kLuaJitBegin,
                            memory.reader())
                  .state,
              DetectionState::kFound);
  }
}

}  // namespace
}  // namespace swipr::runtimes
