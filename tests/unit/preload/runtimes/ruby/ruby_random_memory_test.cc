// Ruby's readers on memory of random contents: they end, stay inside their bounds and invent
// nothing.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "preload/runtimes/ruby/ruby_frames.h"
#include "preload/runtimes/ruby/ruby_names.h"
#include "preload/runtimes/ruby/ruby_waits.h"
#include "tests/unit/preload/runtimes/random_memory.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kRubyBegin = 0x7f00'0000'0000;

// Most words are addresses again; some are the flags of code, texts and arrays.
RandomMemory random_ruby_memory(std::uint64_t seed) {
  const auto make_word = [](std::mt19937_64& random) -> std::uint64_t {
    constexpr std::uint64_t kFlags[] = {0x701a, 0x701a, 0x601a, 0x2005, 0x4005, 7, 0x2007, 0x20};
    switch (random() % 10) {
      case 0:
        return random();
      case 1:
        return random() % 300;
      case 2:
      case 3:
      case 4:
        return kFlags[random() % std::size(kFlags)];
      default:
        return kRubyBegin + random() % (1 << 20) * 8;
    }
  };
  return {seed, make_word, [](std::uint64_t address) { return address % 7 == 6; }};
}

void read_all_ruby(const RubyRuntime& ruby, RandomMemory& memory, FunctionText& text,
                   TokenBuffer& tokens, std::uint64_t& named) {
  constexpr std::uint64_t kMost = 2000;
  ObjectPieces reader(memory.reader());
  const std::uint64_t context = kRubyBegin + memory.random()() % 4096 * 8;
  memory.reads = 0;
  RubyRuntime collecting = ruby;
  collecting.collector.code = {context, context + 64};
  find_ruby_collector(collecting, reader, context);
  EXPECT_LE(memory.reads, 16u * 2 + 128 * 3);
  collecting.collector = {.flag = context + 1, .mask = 1, .running = 64};
  memory.reads = 0;
  walk_ruby(collecting, reader, context, tokens);
  EXPECT_LE(memory.reads, kMaxRubyFrames * 16);
  memory.reads = 0;
  if (append_ruby_name(ruby.layout, reader, context, memory.random()() % 9999, text.name)) ++named;
  EXPECT_LE(memory.reads, kMost);
  find_ruby_context(ruby, reader, context);
  memory.reads = 0;
  RubyRuntime listed = ruby;
  listed.machine = context;
  find_listed_ruby_context(listed, reader, context);
  std::uint64_t owner = 0;
  read_ruby_wait(ruby.layout, reader, context, owner);
  EXPECT_LE(memory.reads, 4096u * 4);
  for (std::uint64_t at = context; at < context + 64 * 8; at += 8) {
    RubyCodeBody body;
    if (!read_ruby_code(reader, at, body)) continue;
    std::uint32_t line = 0;
    Token token{.code = at, .fingerprint = fingerprint_of(body), .kind = TokenKind::kRuby};
    token.position = static_cast<std::uint32_t>(memory.random()() % 2000);
    memory.reads = 0;
    if (read_ruby_function(ruby, reader, token, text)) ++named;
    read_ruby_line(ruby, reader, token, line);
    EXPECT_LE(memory.reads, kMost);
    EXPECT_LE(text.name.view().size(), 1024u);
  }
}

TEST(RandomMemory, OfRubyIsReadWithinBounds) {
  const auto text = std::make_unique<FunctionText>();
  const auto tokens = std::make_unique<TokenBuffer>();
  std::uint64_t named = 0;
  for (const unsigned minor : {7u, 1u, 3u}) {
    RubyRuntime ruby{.layout = *find_ruby_layout(minor == 7 ? 2 : 3, minor)};
    ruby.names = kRubyBegin;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      RandomMemory memory = random_ruby_memory(seed);
      read_all_ruby(ruby, memory, *text, *tokens, named);
      if (seed % 20 != 0) continue;  // a hundred times as long
      memory.reads = 0;
      start_ruby(ruby, kRubyBegin, kRubyBegin + 64, memory.reader());
      EXPECT_LE(memory.reads, 200'000u);
    }
  }
  EXPECT_GT(named, 0u);  // else the test would read nothing
}

TEST(RandomMemory, MakesNoRubyOfAnImage) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomMemory memory = random_ruby_memory(seed);
    const RubyDetection found =
        detect_ruby({kRubyBegin, kRubyBegin + 0x400}, kRubyBegin, memory.reader());
    EXPECT_NE(found.state, DetectionState::kFound);
  }
}

}  // namespace
}  // namespace swipr::runtimes
