// Ruby's frames, names and lines in memory that is laid out as each version does it.
#include "preload/runtimes/ruby/ruby_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "preload/runtimes/ruby/ruby_names.h"

namespace swipr::runtimes {
namespace {

using RubyVersion = std::tuple<unsigned, unsigned>;

constexpr std::uint64_t kRubyCode = 0x701a;  // T_IMEMO, imemo_iseq
constexpr std::uint64_t kRubyText = 5;
constexpr std::uint64_t kRubyFlag = 1 << 13;

// A thread with a stack of frames; what it allocates stays where it is.
class RubyMemory {
 public:
  explicit RubyMemory(RubyVersion version)
      : layout_(*find_ruby_layout(std::get<0>(version), std::get<1>(version))) {}

  std::uint64_t* words(std::size_t count) {
    blocks_.push_back(std::make_unique<std::vector<std::uint64_t>>(count));
    return blocks_.back()->data();
  }
  static std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
  }

  std::uint64_t text(std::string_view text) {
    std::uint64_t* const object = words(5);
    if (text.size() > 15) {
      char* const bytes = reinterpret_cast<char*>(words(text.size() / 8 + 1));
      std::memcpy(bytes, text.data(), text.size());
      object[0] = kRubyText | kRubyFlag;
      object[2] = text.size();
      object[3] = address(bytes);
      return address(object);
    }
    object[0] = kRubyText | (layout_.has_text_length ? 0 : text.size() << 14);
    if (layout_.has_text_length) object[2] = text.size();
    std::memcpy(object + (layout_.has_text_length ? 3 : 2), text.data(), text.size());
    return address(object);
  }

  // The line of position p is 100 + p / 3; entries begin at each third position.
  std::uint64_t code(std::uint64_t label, std::uint64_t path, std::uint32_t positions) {
    std::uint64_t* const object = words(5);
    std::uint64_t* const body = words(20);
    object[0] = kRubyCode;
    object[2] = address(body);
    body[0] = std::uint64_t{positions} << 32;
    body[1] = address(words(positions));
    body[8] = path;
    body[10] = label;
    body[11] = layout_.is_first_line_an_object ? 99 << 1 | 1 : 99 | std::uint64_t{7} << 32;
    const std::uint32_t entries = (positions + 2) / 3;
    std::uint64_t* const info = body + layout_.lines / 8;
    char* const lines = reinterpret_cast<char*>(words(entries * 2));
    for (std::uint32_t i = 0; i < entries; ++i) {
      const std::uint32_t line = 100 + i;
      std::memcpy(lines + std::size_t{i} * layout_.line_bytes, &line, sizeof line);
    }
    info[0] = address(lines);
    info[2] = entries;
    info[3] = address(index(positions));
    return address(object);
  }

  std::uint64_t array(const std::vector<std::uint64_t>& elements) {
    std::uint64_t* const object = words(5);
    std::uint64_t* const heap = words(elements.size());
    std::copy(elements.begin(), elements.end(), heap);
    object[0] = 7;
    object[2] = elements.size();
    object[4] = address(heap);
    return address(object);
  }
  std::uint64_t method(std::uint64_t name) {
    std::uint64_t* const object = words(5);
    object[0] = 0x601a;  // T_IMEMO, imemo_ment
    object[3] = name;
    return address(object);
  }

  // Frames from the outermost on; `flags` as in the environment.
  struct Frame {
    std::uint64_t code;  // 0: a function in C
    std::uint64_t position;
    std::uint64_t flags;
    std::uint64_t returns = 0;  // from 3.1 on; compiled code: to where
    std::uint64_t method = 0;
  };
  std::uint64_t context(const std::vector<Frame>& frames) {
    constexpr std::size_t kStackWords = 512;
    std::uint64_t* const stack = words(kStackWords);
    const std::size_t frame_words = layout_.frame_bytes / 8;
    std::uint64_t* frame = stack + kStackWords - frame_words;  // the dummy
    for (const Frame& wanted : frames) {
      frame -= frame_words;
      std::uint64_t* const environment = words(3);
      environment[0] = wanted.method;
      environment[2] = wanted.flags;
      frame[4] = address(environment + 2);
      if (wanted.code == 0) continue;
      frame[0] = instructions_of(wanted.code) + wanted.position * 8;
      frame[2] = wanted.code;
      if (layout_.has_compiled_frames) frame[frame_words - 1] = wanted.returns;
    }
    std::uint64_t* const context = words(8);
    context[0] = address(stack);
    context[1] = kStackWords;
    context[2] = address(frame);
    return address(context);
  }

  RubyRuntime runtime() const { return {.layout = layout_}; }
  static unwind::ImageReader reader() { return {&read, nullptr}; }

 private:
  static bool read(void*, std::uint64_t address, std::span<std::byte> out) noexcept {
    PageCache pages;
    ProbedObjects memory(pages);
    for (std::byte& byte : out) {
      if (!memory.read_value(address++, byte)) return false;
    }
    return true;
  }
  static std::uint64_t instructions_of(std::uint64_t code) {
    const auto body = reinterpret_cast<const std::uint64_t*>(code)[2];
    return reinterpret_cast<const std::uint64_t*>(body)[1];
  }
  std::uint64_t* index(std::uint32_t positions) {
    std::uint64_t* const index = words(6 + (positions / 512 + 1) * 10);
    const auto count = [](std::uint32_t position) { return std::uint64_t{position / 3 + 1}; };
    for (std::uint32_t p = 0; p < 54; ++p) index[p / 9] |= count(p) << p % 9 * 7;
    for (std::uint32_t p = 54; p < positions; ++p) {
      const std::uint32_t at = (p - 54) % 512;
      std::uint64_t* const block = index + 6 + (p - 54) / 512 * 10;
      if (at == 0) block[0] = count(p - 1);
      if (at != 0 && at % 64 == 0) block[1] |= (count(p - 1) - block[0]) << (at / 64 - 1) * 9;
      if (p % 3 == 0) block[2 + at / 64] |= std::uint64_t{1} << at % 64;
    }
    return index;
  }

  RubyLayout layout_;
  std::vector<std::unique_ptr<std::vector<std::uint64_t>>> blocks_;
};

class RubyFrames : public ::testing::TestWithParam<RubyVersion> {
 protected:
  RubyMemory memory{GetParam()};
  std::unique_ptr<TokenBuffer> tokens = std::make_unique<TokenBuffer>();
  std::unique_ptr<FunctionText> text = std::make_unique<FunctionText>();
  std::unique_ptr<PageCache> pages = std::make_unique<PageCache>();
  ObjectPieces pieces{RubyMemory::reader()};
  RubyRuntime runtime = memory.runtime();

  Token token_of(std::uint64_t code) {
    RubyCodeBody body;
    pieces.forget();
    EXPECT_TRUE(read_ruby_code(pieces, code, body));
    return {.code = code, .fingerprint = fingerprint_of(body), .kind = TokenKind::kRuby};
  }
  RubyWalkEnd walk(std::uint64_t context) {
    ProbedObjects inside(*pages);
    return walk_ruby(runtime, inside, context, *tokens);
  }
};

TEST_P(RubyFrames, AreThoseWithCodeInnermostFirst) {
  const std::uint64_t path = memory.text("a.rb");
  const std::uint64_t main = memory.code(memory.text("<main>"), path, 10);
  const std::uint64_t block = memory.code(memory.text("block in <main>"), path, 10);
  const std::uint64_t context =
      memory.context({{main, 5, 0x20}, {0, 0, 0x80}, {block, 0, 0x20}, {main, 9, 0}});
  EXPECT_EQ(walk(context), RubyWalkEnd::kRoot);
  const auto found = tokens->tokens();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].code, main);
  EXPECT_EQ(found[0].position, 8u);
  EXPECT_EQ(found[0].flags, 0);
  EXPECT_EQ(found[1].code, block);
  EXPECT_EQ(found[1].position, 0u);
  EXPECT_EQ(found[1].flags, kTokenEndsLoop);
  EXPECT_EQ(found[2].position, 4u);
  EXPECT_EQ(found[2].flags, kTokenEndsLoop);
  EXPECT_TRUE(tokens->is_root_reached());
}

// YJIT pushes frames without a pc, over what was there.
TEST_P(RubyFrames, OfCompiledCodeMayHaveAnyPc) {
  const std::uint64_t code = memory.code(memory.text("foo"), memory.text("a.rb"), 10);
  const std::uint64_t context = memory.context({{code, 5, 0x20, 1}, {code, 7, 0, 1}});
  const bool may_be_compiled = memory.runtime().layout.has_compiled_frames;
  auto* const pc = reinterpret_cast<std::uint64_t**>(context)[2];
  for (const std::uint64_t stale : {*pc, std::uint64_t{0}, *pc + 5 * 8}) {
    *pc = stale;
    EXPECT_EQ(walk(context), RubyWalkEnd::kRoot);
    const auto found = tokens->tokens();
    ASSERT_EQ(found.size(), stale == 0 && !may_be_compiled ? 1u : 2u);
    EXPECT_EQ(found.back().position, 4u) << "its pc was written before it called";
    EXPECT_TRUE(!may_be_compiled || found[0].position == kNoPosition);
  }
  EXPECT_NE(tokens->tokens()[0].position, 11u) << "beyond the end of the code";
}

TEST_P(RubyFrames, OfMethodsInCAreTheirNames) {
  constexpr std::uint64_t kMethodInC = 0x5555'00a1;
  const std::uint64_t code = memory.code(memory.text("foo"), memory.text("a.rb"), 10);
  const std::uint64_t method = memory.method(std::uint64_t{700} << 4 | 1);
  const std::uint64_t context = memory.context({{code, 5, 0x20},
                                                {0, 0, kMethodInC, 0, method},
                                                {0, 0, 0x6666'00a1, 0, method},  // a block in C
                                                {0, 0, kMethodInC, 0, code},
                                                {0, 0, kMethodInC, 0, 0}});
  EXPECT_EQ(walk(context), RubyWalkEnd::kRoot);
  EXPECT_EQ(tokens->added(), 1u) << "the table of names was not found";
  std::vector<std::uint64_t> first(1024, 8), second(1024, 8);
  first['+' * 2] = memory.text("+");
  second[(700 - 512) * 2] = memory.text("each");
  const std::uint64_t names = memory.array({memory.array(first), memory.array(second)});
  runtime.names = RubyMemory::address(&names);
  EXPECT_EQ(walk(context), RubyWalkEnd::kRoot);
  ASSERT_EQ(tokens->added(), 2u);
  const Token token = tokens->tokens()[0];
  std::uint32_t line = 1;
  EXPECT_EQ(token.flags, kTokenBuiltIn);
  ASSERT_TRUE(read_ruby_function(runtime, pieces, token, *text));
  EXPECT_EQ(text->name.view(), "each");
  EXPECT_EQ(text->file.view(), "");
  EXPECT_TRUE(read_ruby_line(runtime, pieces, token, line));
  EXPECT_EQ(line, 0u);
  text->name.clear();
  EXPECT_TRUE(append_ruby_name(runtime.layout, pieces, names, '+', text->name));
  EXPECT_EQ(text->name.view(), "+");
  for (const std::uint64_t number : {std::uint64_t{'-'}, std::uint64_t{701} << 4 | 1,
                                     std::uint64_t{1024} << 4, ~std::uint64_t{0}}) {
    EXPECT_FALSE(append_ruby_name(runtime.layout, pieces, names, number, text->name)) << number;
  }
}

TEST_P(RubyFrames, HaveNameFileAndFirstLine) {
  std::uint64_t* const both = memory.words(5);  // an array: path and real path
  both[0] = 7 | kRubyFlag | 2 << 15;
  both[2] = memory.text("/home/someone/with/a/long/path/näme.rb");
  const std::uint64_t code =
      memory.code(memory.text("block (2 levels) in a_method"), RubyMemory::address(both), 10);
  ASSERT_TRUE(read_ruby_function(memory.runtime(), pieces, token_of(code), *text));
  EXPECT_EQ(text->name.view(), "block (2 levels) in a_method");
  EXPECT_EQ(text->file.view(), "/home/someone/with/a/long/path/näme.rb");
  EXPECT_EQ(text->first_line, 99u);
  const std::uint64_t small = memory.code(memory.text("foo"), memory.text("a.rb"), 10);
  ASSERT_TRUE(read_ruby_function(memory.runtime(), pieces, token_of(small), *text));
  EXPECT_EQ(text->name.view(), "foo");
  EXPECT_EQ(text->file.view(), "a.rb");
}

TEST_P(RubyFrames, HaveTheLineOfEachPosition) {
  constexpr std::uint32_t kPositions = 1200;
  const std::uint64_t code = memory.code(memory.text("foo"), memory.text("a.rb"), kPositions);
  Token token = token_of(code);
  for (token.position = 0; token.position < kPositions; ++token.position) {
    std::uint32_t line = 0;
    ASSERT_TRUE(read_ruby_line(memory.runtime(), pieces, token, line));
    ASSERT_EQ(line, 100 + token.position / 3) << token.position;
  }
  token.position = kNoPosition;
  std::uint32_t line = 0;
  ASSERT_TRUE(read_ruby_line(memory.runtime(), pieces, token, line));
  EXPECT_EQ(line, 99u) << "where the function begins";
}

TEST_P(RubyFrames, OfCollectedCodeHaveNoName) {
  const std::uint64_t path = memory.text("a.rb");
  const std::uint64_t code = memory.code(memory.text("foo"), path, 10);
  const Token token = token_of(code);
  auto* const body = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uint64_t*>(code)[2]);
  std::uint32_t line = 0;
  body[10] = memory.text("bar");  // another function in its place
  EXPECT_FALSE(read_ruby_function(memory.runtime(), pieces, token, *text));
  EXPECT_FALSE(read_ruby_line(memory.runtime(), pieces, token, line));
  reinterpret_cast<std::uint64_t*>(code)[0] = 0;  // free
  EXPECT_FALSE(read_ruby_function(memory.runtime(), pieces, token, *text));
}

TEST_P(RubyFrames, AreNotReadOutsideTheStack) {
  const std::uint64_t code = memory.code(memory.text("foo"), memory.text("a.rb"), 10);
  const std::uint64_t context = memory.context({{code, 5, 0x20}});
  auto* const words = reinterpret_cast<std::uint64_t*>(context);
  const std::uint64_t frame = words[2];
  for (const std::uint64_t wrong : {frame + 8, words[0] - 8, words[0] + 512 * 8}) {
    words[2] = wrong;
    EXPECT_EQ(walk(context), RubyWalkEnd::kInvalid);
    EXPECT_EQ(tokens->added(), 0u);
  }
  EXPECT_EQ(walk(8), RubyWalkEnd::kUnreadable);
}

INSTANTIATE_TEST_SUITE_P(Versions, RubyFrames,
                         ::testing::Values(RubyVersion{2, 7}, RubyVersion{3, 0}, RubyVersion{3, 1},
                                           RubyVersion{3, 2}, RubyVersion{3, 3},
                                           RubyVersion{3, 4}));

TEST(RubyLayouts, OfOtherVersionsAreUnknown) {
  EXPECT_EQ(find_ruby_layout(2, 6), nullptr);
  EXPECT_EQ(find_ruby_layout(3, 5), nullptr);
  EXPECT_EQ(find_ruby_layout(4, 0), nullptr);
}

}  // namespace
}  // namespace swipr::runtimes
