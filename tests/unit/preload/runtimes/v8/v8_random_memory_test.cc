// V8's readers on memory of random contents: they end, stay inside their bounds and invent nothing.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>

#include "preload/runtimes/v8/v8_code.h"
#include "preload/runtimes/v8/v8_frames.h"
#include "preload/runtimes/v8/v8_lines.h"
#include "preload/runtimes/v8/v8_names.h"
#include "tests/unit/preload/runtimes/random_memory.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kBegin = 0x7f00'0000'0000;

// Most words are tagged addresses.
RandomMemory random_v8_memory(std::uint64_t seed) {
  const auto make_word = [](std::mt19937_64& random) -> std::uint64_t {
    constexpr std::uint64_t kBytes = 1 << 15;
    switch (random() % 8) {
      case 0:
        return random();
      case 1:
        return random() % 300 << 32;  // a small integer
      case 2:
        return random() % 300;
      default:
        return (kBegin + random() % (kBytes / 8) * 8) | 1;
    }
  };
  return {seed, make_word, [](std::uint64_t address) { return address / 512 % 31 == 6; }};
}

// A layout of any offsets: a hostile process describes itself as it likes. Types are ranges or
// numbers that the memory has.
V8Runtime random_v8(std::mt19937_64& random) {
  V8Runtime v8;
  std::array<std::int32_t, sizeof(V8Layout) / 4> values{};
  for (std::int32_t& value : values) value = static_cast<std::int32_t>(random() % 32 * 8);
  std::memcpy(static_cast<void*>(&v8.layout), values.data(), sizeof v8.layout);
  v8.layout.frame_context = -8;
  v8.layout.frame_function = -16;
  v8.layout.frame_bytecode = -32;
  v8.layout.frame_position = -40;
  v8.layout.first_function_type = 0;
  v8.layout.last_function_type = 65535;
  v8.layout.scope_locals = 2;
  v8.layout.scope_first = random() % 2 == 0 ? 3 : 5;
  v8.layout.first_other_type = 30000;
  constexpr std::array kVersions = {10, 12, 13, 14};
  constexpr std::array kMinors = {2, 4, 6, 6};
  const std::size_t at = random() % kVersions.size();
  v8.traits = *find_v8_traits(kVersions[at], kMinors[at]);
  return v8;
}

// So that what the names need has the right type: the type of the object is whatever it has there.
void adopt_types(V8Runtime& v8, ObjectPieces& reader, const Token& token) {
  std::uint64_t word = 0;
  std::int32_t type = 0;
  const V8Layout& layout = v8.layout;
  if (read_v8_type(layout, reader, token.code + 1, type)) v8.layout.shared_type = type;
  if (reader.read_value(at_v8_offset(token.code, layout.shared_script), word) &&
      read_v8_type(layout, reader, word, type)) {
    v8.layout.script_type = type;
  }
  if (reader.read_value(at_v8_offset(token.code, layout.shared_name), word) &&
      read_v8_type(layout, reader, word, type)) {
    v8.layout.scope_type = type;
  }
}

// ThreadSanitizer is many times slower, and sees no more in one thread than the other builds do.
#ifdef SWIPR_TSAN
constexpr std::uint64_t kSeeds = 40;
#else
constexpr std::uint64_t kSeeds = 400;
#endif

TEST(RandomMemory, OfV8IsReadWithinBounds) {
  const auto frames = std::make_unique<unwind::FrameBuffer>();
  const auto tokens = std::make_unique<TokenBuffer>();
  const auto lines = std::make_unique<V8LineCache>();
  const auto text = std::make_unique<FunctionText>();
  std::uint64_t named = 0;
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    RandomMemory memory = random_v8_memory(seed);
    ObjectPieces reader(memory.reader());
    V8Runtime v8 = random_v8(memory.random());
    frames->frame_count = 200;
    frames->flags = wire::kStackRootReached;
    for (std::uint32_t i = 0; i < frames->frame_count; ++i) {
      frames->stacks[i] = kBegin + i * std::uint64_t{64};
      frames->kinds[i] = static_cast<std::uint8_t>(wire::FrameSource::kFramePointer);
    }
    memory.reads = 0;
    read_v8_tokens(v8, reader, *frames, {memory.random()(), memory.random()()}, *tokens);
    EXPECT_LE(memory.reads, frames->frame_count * std::uint64_t{10});
    found += tokens->added();
    for (const Token& token : tokens->tokens()) {
      std::uint32_t line = 0;
      adopt_types(v8, reader, token);
      memory.reads = 0;
      named += read_v8_function(v8, reader, token, *lines, *text) ? 1 : 0;
      read_v8_line(v8, reader, token, *lines, line);
      EXPECT_LE(memory.reads, 3 * std::uint64_t{kMaxV8SourceUnits} / 256 + 5000);
      EXPECT_LE(text->name.view().size(), 1024u);
      V8Functions inlined;
      const std::uint64_t pc = kBegin + memory.random()() % 0x4000;
      V8CodePlace place{kBegin + memory.random()() % 0x4000 * (memory.random()() % 2), kBegin};
      memory.reads = 0;
      EXPECT_LT(expand_v8_token(v8, reader, token, pc, place, inlined), kMaxV8Inlined + 1);
      EXPECT_LE(memory.reads, kMaxV8CodeBytes / 64 * 6 + kMaxV8PositionTable);
    }
  }
  EXPECT_GT(found, 1000u);  // else the test would read nothing
  EXPECT_GT(named, 10u);
}

TEST(RandomMemory, OfV8IsNoV8) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomMemory memory = random_v8_memory(seed);
    const V8Detection found =
        detect_v8({0x7f00'0000'3000, 0x7f00'0000'3400}, 0x7f00'0000'0000, memory.reader());
    EXPECT_EQ(found.state, DetectionState::kAbsent);
    EXPECT_LE(memory.reads, 500u);
  }
}

}  // namespace
}  // namespace swipr::runtimes
