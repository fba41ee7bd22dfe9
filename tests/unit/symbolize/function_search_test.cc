// Functions by name and by line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "symbolize/symbolizer.h"
#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

using testing::IsEmpty;

using SymbolKind = FunctionSymbol::Kind;

const FunctionSymbol* find_name(const std::vector<FunctionSymbol>& functions,
                                std::string_view name) {
  const auto found =
      std::find_if(functions.begin(), functions.end(),
                   [name](const FunctionSymbol& function) { return function.name == name; });
  return found == functions.end() ? nullptr : &*found;
}

TEST(FunctionSymbols, AreThoseOfTheSymbolTable) {
  const std::string path = fixture("chain_dwarf5");
  Symbolizer symbolizer;
  const auto module = symbolizer.open_module({path, "", 0});
  const auto functions = symbolizer.list_functions(module);
  const FunctionSymbol* buy = find_name(functions, "_ZN4shop3buyEi");
  ASSERT_NE(buy, nullptr);
  EXPECT_EQ(buy->kind, SymbolKind::kDefined);
  EXPECT_EQ(buy->begin, symbolizer.image_address(module, offset_of(path, "_ZN4shop3buyEi")));
  EXPECT_EQ(find_name(functions, "_ZN4shop4sinkE"), nullptr) << "data";
  const FunctionSymbol* start = find_name(functions, "__libc_start_main");
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(start->kind, SymbolKind::kImported);
}

TEST(FunctionSymbols, AreFoundInTheDebugFileOfAStrippedProgram) {
  Symbolizer symbolizer;
  const auto stripped = symbolizer.open_module({fixture("chain_stripped"), "", 0});
  EXPECT_EQ(find_name(symbolizer.list_functions(stripped), "_ZN4shop3buyEi"), nullptr);
  for (const char* name : {"chain_linked", "chain_mini"}) {
    Symbolizer another;
    const auto module = another.open_module({fixture(name), "", 0});
    EXPECT_NE(find_name(another.list_functions(module), "_ZN4shop3buyEi"), nullptr) << name;
    // Looked up in the other order, too.
    EXPECT_FALSE(
        another.find_functions(module, offset_of(fixture("chain_dwarf5"), "main")).empty());
  }
}

TEST(FunctionSymbols, OfLibcTellWhatIsIndirect) {
  Symbolizer symbolizer;
  const auto libc = symbolizer.open_module({"/lib/x86_64-linux-gnu/libc.so.6", "", 0});
  const auto functions = symbolizer.list_functions(libc);
  if (functions.empty()) GTEST_SKIP() << "no Debian libc here";
  ASSERT_NE(find_name(functions, "strlen"), nullptr);
  EXPECT_EQ(find_name(functions, "strlen")->kind, SymbolKind::kIndirect);
  EXPECT_EQ(find_name(functions, "malloc")->kind, SymbolKind::kDefined);
}

TEST(FunctionSymbols, OfNoFileAreNone) {
  Symbolizer symbolizer;
  EXPECT_THAT(symbolizer.list_functions(symbolizer.open_module({"/nowhere", "", 0})), IsEmpty());
  EXPECT_THAT(symbolizer.list_functions(77), IsEmpty());
  EXPECT_THAT(symbolizer.find_line(77, "chain.cc", 1), IsEmpty());
}

class FunctionLines : public testing::TestWithParam<const char*> {
 protected:
  std::vector<Symbolizer::LineFunctions> at(std::string_view mark, std::string_view file) {
    return symbolizer_.find_line(module_, file, line_of("chain.cc", mark));
  }
  Symbolizer symbolizer_;
  const Symbolizer::ModuleHandle module_ = symbolizer_.open_module({fixture(GetParam()), "", 0});
  const std::vector<FunctionSymbol> symbols_ = symbolizer_.list_functions(module_);
};

TEST_P(FunctionLines, AreFoundByTheEndOfTheirPath) {
  for (const char* file : {"chain.cc", "fixtures/chain.cc"}) {
    const auto found = at("buy", file);
    ASSERT_EQ(found.size(), 1u) << file;
    EXPECT_EQ(found[0].functions.back().linkage_name, "_ZN4shop3buyEi");
    const FunctionSymbol* buy = find_name(symbols_, "_ZN4shop3buyEi");
    ASSERT_NE(buy, nullptr);
    EXPECT_EQ(found[0].begin, buy->begin);
  }
  EXPECT_THAT(at("buy", "hain.cc"), IsEmpty());
  EXPECT_THAT(symbolizer_.find_line(module_, "chain.cc", 1'000'000), IsEmpty());
}

TEST_P(FunctionLines, OfInlinedFunctionsNameThoseAndWhereTheyAre) {
  const auto found = at("add_tax", "chain.cc");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].functions.front().name, "shop::add_tax(int)");
  EXPECT_TRUE(found[0].functions.front().inlined);
  EXPECT_EQ(found[0].functions.back().name, "shop::buy(int)");
}

TEST_P(FunctionLines, InlinedFunctionsAreFoundByName) {
  const auto found = symbolizer_.find_inlined(
      module_, [](std::string_view name) { return name == "shop::add_tax(int)"; });
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].name, "shop::add_tax(int)");
  EXPECT_EQ(found[0].into, "shop::buy(int)");
  EXPECT_THAT(symbolizer_.find_inlined(module_, [](std::string_view) { return false; }), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, FunctionLines,
                         testing::Values("chain_dwarf5", "chain_dwarf4", "chain_split5",
                                         "chain_linked"));

}  // namespace
}  // namespace swipr::symbolize::test
