// Perl's readers on memory of random contents: they end, stay inside their bounds and invent
// nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "preload/runtimes/perl/perl_frames.h"
#include "preload/runtimes/perl/perl_names.h"
#include "tests/unit/preload/runtimes/random_memory.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kPerlBegin = 0x7f00'0000'0000;

// Most words are addresses again; some are the types of objects and contexts, and small numbers.
RandomMemory random_perl_memory(std::uint64_t seed) {
  const auto make_word = [](std::mt19937_64& random) -> std::uint64_t {
    constexpr std::uint64_t kReferences = 1;
    switch (random() % 10) {
      case 0:
        return random();
      case 1:
        return random() % 16;
      case 2:
        return (std::uint64_t{kPerlCode} | 0x0200'0000) << 32 | kReferences;
      case 3:
        return (std::uint64_t{kPerlGlob} + random() % 6) << 32 | 3;
      case 4:
        return 0;
      default:
        return kPerlBegin + random() % (1 << 20) * 8;
    }
  };
  return {seed, make_word, [](std::uint64_t address) { return address % 7 == 6; }};
}

PerlRuntime random_perl(bool has_name_in_body) {
  return {.first_interpreter = kPerlBegin,
          .next_statement = kPerlBegin + 800,
          .loop = {},
          .layout = {192, 208, 224, has_name_in_body},
          .interpreter_at = 792};
}

TEST(RandomMemory, OfPerlIsReadWithinBounds) {
  constexpr std::uint64_t kMaxReads = 16 * kMaxPerlContexts + kMaxPerlStacks;
  const auto text = std::make_unique<FunctionText>();
  const auto tokens = std::make_unique<TokenBuffer>();
  std::uint64_t named = 0;
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RandomMemory memory = random_perl_memory(seed);
    ObjectPieces reader(memory.reader());
    const PerlRuntime perl = random_perl(seed % 2 == 0);
    const std::uint64_t interpreter = kPerlBegin + memory.random()() % 4096 * 8;
    walk_perl(perl, reader, interpreter, *tokens);
    EXPECT_LE(tokens->added(), kMaxPerlContexts + 1);
    EXPECT_LE(memory.reads, kMaxReads);
    found += tokens->added();
    for (const Token& token :
         tokens->tokens().first(std::min<std::size_t>(tokens->tokens().size(), 8))) {
      memory.reads = 0;
      if (read_perl_function(perl.layout, reader, token, *text)) ++named;
      EXPECT_LE(memory.reads, 100u);
    }
  }
  EXPECT_GT(found, 100u);  // else the test would read nothing
  EXPECT_GT(named, 10u);
}

TEST(RandomMemory, MakesNoPerlOfAnImage) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomMemory memory = random_perl_memory(seed);
    PerlDetection found =
        detect_perl({kPerlBegin, kPerlBegin + 0x400}, kPerlBegin, memory.reader());
    EXPECT_NE(found.state, DetectionState::kFound);
    found.runtime = random_perl(true);
    start_perl(found, kPerlBegin + 4096, memory.reader());
    EXPECT_NE(found.state, DetectionState::kFound);
  }
}

}  // namespace
}  // namespace swipr::runtimes
