#include "preload/agent/record/stream/function_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace swipr::agent {
namespace {

class FunctionTableTest : public testing::Test {
 protected:
  ~FunctionTableTest() override { table_.release(); }
  std::uint32_t intern(std::string_view name, std::string_view file = "/srv/app.py") {
    return table_.intern({.language = Language::kPython, .name = name, .file = file});
  }

  FunctionTable table_;
};

TEST_F(FunctionTableTest, EqualFunctionsShareANumber) {
  EXPECT_EQ(intern("f"), 1u);
  EXPECT_EQ(intern("g"), 2u);
  EXPECT_EQ(intern("f"), 1u);
  EXPECT_EQ(intern(std::string("g")), 2u);
}

TEST_F(FunctionTableTest, KeepsAFunctionAsItIs) {
  const LanguageFunction function{.language = Language::kRuby,
                                  .name = "run",
                                  .file = "/srv/app.rb",
                                  .start_line = 28,
                                  .is_lost = true,
                                  .is_collector = true};
  intern("before");
  const std::uint32_t number = table_.intern(function);
  intern("after");
  EXPECT_EQ(table_.function(number), function);
  EXPECT_EQ(table_.function(1).name, "before");
}

TEST_F(FunctionTableTest, FunctionsThatDifferInAnythingDiffer) {
  const LanguageFunction plain{.language = Language::kPython, .name = "ab", .file = "c"};
  std::set<std::uint32_t> numbers = {table_.intern(plain)};
  const auto add = [&](auto change) {
    LanguageFunction other = plain;
    change(other);
    numbers.insert(table_.intern(other));
  };
  add([](LanguageFunction& f) { f.language = Language::kPhp; });
  add([](LanguageFunction& f) { f.name = "abc"; });
  add([](LanguageFunction& f) { f.file = ""; });
  add([](LanguageFunction& f) { f = {.language = f.language, .name = "a", .file = "bc"}; });
  add([](LanguageFunction& f) { f = {.language = f.language, .name = "abc", .file = ""}; });
  add([](LanguageFunction& f) { f.start_line = 1; });
  add([](LanguageFunction& f) { f.is_lost = true; });
  add([](LanguageFunction& f) { f.is_collector = true; });
  EXPECT_EQ(numbers.size(), 9u);
  EXPECT_FALSE(numbers.contains(0));
}

TEST_F(FunctionTableTest, IsBoundedInFunctions) {
  for (std::size_t number = 1; number <= FunctionTable::kMaxFunctions; ++number) {
    ASSERT_EQ(intern(std::to_string(number)), number);
  }
  EXPECT_FALSE(table_.has_left_out());
  EXPECT_EQ(intern("one more"), 0u);
  EXPECT_TRUE(table_.has_left_out());
  EXPECT_EQ(intern("1"), 1u) << "those that it has keep their numbers";
  EXPECT_EQ(intern(std::to_string(FunctionTable::kMaxFunctions)), FunctionTable::kMaxFunctions);
  table_.release();
  EXPECT_FALSE(table_.has_left_out());
  EXPECT_EQ(intern("one more"), 1u);
}

TEST_F(FunctionTableTest, IsBoundedInBytes) {
  std::string name(std::size_t{1} << 20, 'x');
  for (std::uint32_t number = 1; number <= FunctionTable::kMaxTextBytes >> 20; ++number) {
    name[0] = static_cast<char>('a' + number);
    ASSERT_EQ(intern(name, ""), number);
  }
  EXPECT_FALSE(table_.has_left_out());
  EXPECT_EQ(intern("f", ""), 0u);
  EXPECT_TRUE(table_.has_left_out());
  EXPECT_EQ(intern(name, ""), FunctionTable::kMaxTextBytes >> 20);
}

}  // namespace
}  // namespace swipr::agent
