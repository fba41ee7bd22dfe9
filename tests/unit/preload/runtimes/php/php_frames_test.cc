// PHP's frames and names in memory that is laid out as each version does it.
#include "preload/runtimes/php/php_frames.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "preload/runtimes/php/php_names.h"
#include "tests/unit/preload/runtimes/php/php_memory.h"

namespace swipr::runtimes {
namespace {

class PhpFrames : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  PhpMemory memory{GetParam()};
  std::unique_ptr<TokenBuffer> tokens = std::make_unique<TokenBuffer>();
  std::unique_ptr<FunctionText> text = std::make_unique<FunctionText>();
  std::unique_ptr<PageCache> pages = std::make_unique<PageCache>();
  ObjectPieces pieces{PhpMemory::reader()};

  std::span<const Token> walk(const PhpRegisters& registers = {}) {
    ProbedObjects inside(*pages);
    pages->clear();
    walk_php(memory.runtime(), inside, registers, *tokens);
    return tokens->tokens();
  }
  // "[gone]": it has none.
  std::string name_of(const Token& token) {
    if (!read_php_function(pieces, token, *text)) return "[gone]";
    return std::string(text->name.view());
  }
};

TEST_P(PhpFrames, AreFromTheInnermostToTheScript) {
  const std::uint64_t file = memory.text("/srv/app/main.php");
  const std::uint64_t main = memory.function(0, file);
  const std::uint64_t method =
      memory.function(memory.text("run"), file, memory.class_of(memory.text("App\\Kernel")));
  memory.call(main, memory.instruction(main, 3), true);
  memory.call(0, 0);  // of the engine
  memory.call(method, memory.instruction(method, 0), true);
  memory.call(memory.built_in(memory.text("usleep")), 0);
  const auto found = walk();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(tokens->is_root_reached());
  EXPECT_EQ(name_of(found[0]), "usleep");
  EXPECT_EQ(text->file.view(), "");
  EXPECT_EQ(found[0].flags, kTokenBuiltIn);
  EXPECT_EQ(php_line(found[0]), 0u);
  EXPECT_EQ(name_of(found[1]), "App\\Kernel::run");
  EXPECT_EQ(text->file.view(), "/srv/app/main.php");
  EXPECT_EQ(text->first_line, 99u);
  EXPECT_EQ(found[1].flags, kTokenEndsLoop);
  EXPECT_EQ(php_line(found[1]), 99u);
  EXPECT_EQ(name_of(found[2]), "main.php");
  EXPECT_EQ(php_line(found[2]), 102u);
}

TEST_P(PhpFrames, HaveTheLineOfTheRegistersWhereTheyAreOfTheFrame) {
  const std::uint64_t code = memory.function(memory.text("f"), memory.text("a.php"));
  const std::uint64_t saved = memory.instruction(code, 2);
  const std::uint64_t outer = memory.call(code, saved);
  const std::uint64_t inner = memory.call(code, saved);
  const std::uint64_t running = memory.instruction(code, 7);
  EXPECT_EQ(php_line(walk()[0]), 101u);
  EXPECT_EQ(php_line(walk({inner, running})[0]), 106u);
  EXPECT_EQ(php_line(walk({inner, running})[1]), 101u);
  EXPECT_EQ(php_line(walk({outer, running})[0]), 101u);
  const std::uint64_t end = memory.instruction(code, PhpMemory::kInstructions);
  EXPECT_EQ(php_line(walk({inner, end})[0]), 101u);
  *PhpMemory::at(inner) = end;
  EXPECT_EQ(php_line(walk({inner, end})[0]), 0u);
}

TEST_P(PhpFrames, HaveNamesWithoutHashes) {
  const std::uint64_t file = memory.text("/srv/app/src/Kernel.php", false);
  const std::uint64_t code = memory.function(memory.text("App\\handle", false), file);
  for (int depth = 0; depth < 1000; ++depth) memory.call(code, memory.instruction(code, 1));
  const auto found = walk();
  ASSERT_EQ(found.size(), 1000u);
  EXPECT_EQ(name_of(found[0]), "App\\handle");
  EXPECT_EQ(name_of(found[999]), "App\\handle");
}

TEST_P(PhpFrames, ReadNoEndOfTextsThatHaveNoHashes) {
  const std::uint64_t file = memory.text("a.php");
  const std::string long_name(4000, 'x');
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t code = memory.function(memory.text(long_name, false), file);
    memory.call(code, memory.instruction(code, 1));
  }
  const auto found = walk();
  ASSERT_EQ(found.size(), 6u);
  EXPECT_TRUE(name_of(found[0]).starts_with("xxx"));
  EXPECT_TRUE(name_of(found[3]).starts_with("xxx"));
  EXPECT_EQ(name_of(found[4]), "[gone]");
}

TEST_P(PhpFrames, HaveNamesWhenTheirFunctionIsGone) {
  const std::uint64_t code = memory.function(memory.text("{closure}"), memory.text("a.php"));
  const std::uint64_t frame = memory.call(code, memory.instruction(code, 1));
  const Token token = walk()[0];
  std::memset(PhpMemory::at(code), 0, 30 * 8);
  std::memset(PhpMemory::at(frame), 0, 10 * 8);
  EXPECT_EQ(name_of(token), "{closure}");
}

TEST_P(PhpFrames, HaveNoNameWhenOneOfTheirTextsIsGone) {
  const std::uint64_t name = memory.text("f");
  const std::uint64_t of_class = memory.text("Some");
  const std::uint64_t file = memory.text("a.php");
  memory.call(memory.function(name, file, memory.class_of(of_class)), 0);
  const Token token = walk()[0];
  for (const std::uint64_t each : {name, of_class, file}) {
    std::uint64_t* const letters = PhpMemory::at(each + 24);
    ++*letters;
    EXPECT_EQ(name_of(token), "[gone]");
    --*letters;
    PhpMemory::at(each)[2] = std::uint64_t{1} << 40;  // its length
    EXPECT_EQ(name_of(token), "[gone]");
    PhpMemory::at(each)[2] = 1;
    EXPECT_EQ(name_of(token) == "[gone]", each != name);  // "f" has that length
    PhpMemory::at(each)[2] = each == name ? 1 : each == file ? 5 : 4;
  }
  EXPECT_EQ(name_of(token), "Some::f");
}

TEST_P(PhpFrames, OfAnonymousClassesEndBeforeTheirPlace) {
  const std::string_view name("class@anonymous\0/a.php:3$0", 26);
  const std::uint64_t scope = memory.class_of(memory.text(name));
  memory.call(memory.function(memory.text("f"), memory.text("a.php"), scope), 0);
  EXPECT_EQ(name_of(walk()[0]), "class@anonymous::f");
}

TEST_P(PhpFrames, AreReadAsFarAsTheyCanBe) {
  const std::uint64_t code = memory.function(memory.text("f"), memory.text("a.php"));
  const std::uint64_t outer = memory.call(code, 0);
  memory.call(code, 0);
  for (const std::uint64_t wrong : {std::uint64_t{8}, outer + 1, ~std::uint64_t{7}}) {
    PhpMemory::at(outer)[6] = wrong;  // its caller
    EXPECT_EQ(walk().size(), 2u);
    EXPECT_FALSE(tokens->is_root_reached());
  }
  PhpMemory::at(outer)[6] = outer;
  walk();
  EXPECT_EQ(tokens->added(), kMaxPhpFrames);
  EXPECT_FALSE(tokens->is_root_reached());
}

INSTANTIATE_TEST_SUITE_P(Versions, PhpFrames,
                         ::testing::Values(20190902, 20200930, 20210902, 20220829, 20230831,
                                           20240924));

TEST(PhpTokens, HoldNames) {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << unwind::kUserAddressBits;
  constexpr PackedNames kNames = {.name = kEnd - 8,
                                  .class_name = 0xaaaa'aaaa'aaa8 % kEnd,
                                  .file = 0x7f01'2345'6788,
                                  .first_line = kMaxRuntimeLine};
  Token token;
  ASSERT_TRUE(pack_names(kNames, ~std::uint64_t{0}, token));
  EXPECT_EQ(unpack_names(token), kNames);
  for (const std::uint64_t wrong : {std::uint64_t{4}, kEnd}) {
    EXPECT_FALSE(pack_names({.name = wrong}, 0, token));
    EXPECT_FALSE(pack_names({.class_name = wrong}, 0, token));
    EXPECT_FALSE(pack_names({.file = wrong}, 0, token));
  }
}

}  // namespace
}  // namespace swipr::runtimes
