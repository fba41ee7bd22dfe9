// PHP's readers on memory of random contents: they end, stay inside their bounds and invent
// nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "preload/runtimes/php/php_frames.h"
#include "preload/runtimes/php/php_names.h"
#include "tests/unit/preload/runtimes/random_memory.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kPhpBegin = 0x7f00'0000'0000;

// Most words are addresses again; some are the types of functions, lengths and no hashes.
RandomMemory random_php_memory(std::uint64_t seed) {
  const auto make_word = [](std::mt19937_64& random) -> std::uint64_t {
    switch (random() % 10) {
      case 0:
        return random();
      case 1:
        return random() % 300;
      case 2:
      case 3:
        return random() % 5;
      case 4:
        return 0;
      default:
        return kPhpBegin + random() % (1 << 20) * 8;
    }
  };
  return {seed, make_word, [](std::uint64_t address) { return address % 7 == 6; }};
}

TEST(RandomMemory, OfPhpIsReadWithinBounds) {
  const auto text = std::make_unique<FunctionText>();
  const auto tokens = std::make_unique<TokenBuffer>();
  std::uint64_t named = 0;
  for (const std::uint32_t api : {20190902u, 20220829u, 20240924u}) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      RandomMemory memory = random_php_memory(seed);
      ObjectPieces reader(memory.reader());
      const PhpRuntime php{.layout = *find_php_layout(api),
                           .current_frame = kPhpBegin + memory.random()() % 4096 * 8,
                           .loop = {}};
      walk_php(php, reader, {}, *tokens);
      EXPECT_LE(tokens->added(), kMaxPhpFrames);
      EXPECT_LE(memory.reads, kMaxPhpFrames * 16 + kMaxHashedPhpText);
      for (const Token& token :
           tokens->tokens().first(std::min<std::size_t>(tokens->tokens().size(), 8))) {
        memory.reads = 0;
        if (read_php_function(reader, token, *text)) ++named;
        EXPECT_LE(memory.reads, 100u);
      }
    }
  }
  EXPECT_GT(named, 0u);  // else the test would read nothing
}

TEST(RandomMemory, MakesNoPhpOfAnImage) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomMemory memory = random_php_memory(seed);
    const PhpDetection found =
        detect_php(kPhpBegin, {kPhpBegin, kPhpBegin + 0x400}, kPhpBegin, memory.reader());
    EXPECT_NE(found.state, DetectionState::kFound);
  }
}

}  // namespace
}  // namespace swipr::runtimes
