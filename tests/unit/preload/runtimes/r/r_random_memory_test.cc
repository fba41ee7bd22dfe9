// R's readers on memory of random contents: they end, stay inside their bounds and invent nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "preload/runtimes/r/r_frames.h"
#include "preload/runtimes/r/r_names.h"
#include "tests/unit/preload/runtimes/random_memory.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kRBegin = 0x7f00'0000'0000;

// Most words are addresses again; some are types of objects, flags of contexts and small numbers.
RandomMemory random_r_memory(std::uint64_t seed) {
  const auto make_word = [](std::mt19937_64& random) -> std::uint64_t {
    switch (random() % 8) {
      case 0:
        return random();
      case 1:
        return random() % 32;
      case 2:
        return random() % 2 == 0 ? kRSymbol : kRText;
      case 3:
      case 4:
        return kRCallType;
      default:
        return kRBegin + random() % (1 << 20) * 8;
    }
  };
  return {seed, make_word, [](std::uint64_t address) { return address % 7 == 6; }};
}

TEST(RandomMemory, OfRIsReadWithinBounds) {
  constexpr std::uint64_t kMaxReads = 8 * 4 * kMaxRContexts;
  const auto text = std::make_unique<FunctionText>();
  const auto tokens = std::make_unique<TokenBuffer>();
  std::uint64_t named = 0;
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RandomMemory memory = random_r_memory(seed);
    ObjectPieces reader(memory.reader());
    const RRuntime r{.innermost = kRBegin + memory.random()() % 4096 * 8,
                     .stack_end = kRBegin + (1 << 22)};
    walk_r(r, reader, kRBegin, *tokens);
    EXPECT_LE(tokens->added(), kMaxRContexts);
    EXPECT_LE(memory.reads, kMaxReads);
    found += tokens->added();
    for (const Token& token :
         tokens->tokens().first(std::min<std::size_t>(tokens->tokens().size(), 8))) {
      memory.reads = 0;
      if (read_r_function(reader, token, *text)) ++named;
      EXPECT_LE(memory.reads, 100u);
    }
  }
  EXPECT_GT(found, 20u);  // else the test would read nothing
  EXPECT_GT(named, 10u);
}

TEST(RandomMemory, MakesNoROfAnImage) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomMemory memory = random_r_memory(seed);
    EXPECT_NE(detect_r({kRBegin, kRBegin + 0x400}, kRBegin, memory.reader()).state,
              DetectionState::kFound);
  }
}

}  // namespace
}  // namespace swipr::runtimes
