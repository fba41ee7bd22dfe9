#include "symbolize/elf/symbol_table.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "symbolize/elf/elf_file.h"
#include "symbolize/elf/plt_entries.h"
#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

class SymbolTableTest : public testing::Test {
 protected:
  // The name at `delta` bytes after a symbol.
  std::string name_at(std::string_view symbol, std::uint64_t delta) const {
    const auto address = file_.image_address({offset_of(path_, symbol).value + delta});
    const auto found = table_.find(address.value_or(ImageAddr{}));
    return found ? std::string(found->name) : std::string();
  }

  const std::string path_ = fixture("chain_only_symtab");
  const ElfFile file_ = std::move(ElfFile::open(path_)).value();
  const SymbolTable table_ = SymbolTable::read(file_.elf(), SymbolTable::Kind::kStatic);
};

TEST_F(SymbolTableTest, PrefersTheSizedFunctionToALabelInIt) {
  EXPECT_EQ(name_at("label_in_chain", 0), "_ZN4shop3buyEi");
  EXPECT_EQ(name_at("label_in_cold", 0), "_Z10mostly_hoti.cold");
}

TEST_F(SymbolTableTest, ExtendsAFunctionWithoutSizeToTheNextSymbol) {
  EXPECT_EQ(name_at("unsized_function", 0), "unsized_function");
  EXPECT_EQ(name_at("unsized_function", 3), "unsized_function");
}

TEST_F(SymbolTableTest, FindsNothingOutsideOfCode) {
  EXPECT_FALSE(table_.find({0}));
  EXPECT_FALSE(table_.find({~std::uint64_t{0}}));
  // shop::sink is data.
  for (const char* data : {"_ZN4shop4sinkE", "__data_start"}) EXPECT_EQ(name_at(data, 0), "");
}

TEST_F(SymbolTableTest, KnowsWhereAFunctionBegins) {
  const auto main = file_.image_address(offset_of(path_, "main"));
  ASSERT_TRUE(main);
  const auto found = table_.find({main->value + 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begin, *main);
}

TEST(SymbolTable, IsEmptyWithoutASection) {
  const auto file = ElfFile::open(fixture("chain_stripped"));
  ASSERT_TRUE(file);
  EXPECT_TRUE(SymbolTable::read(file.value().elf(), SymbolTable::Kind::kStatic).empty());
}

// libc has all of these: versions, and weak names beside global ones with underscores.
TEST(SymbolTable, PrefersNamesThatPeopleUse) {
  const auto libc = ElfFile::open("/proc/self/root/lib/x86_64-linux-gnu/libc.so.6");
  if (!libc) GTEST_SKIP() << "no Debian libc here";
  const auto table = SymbolTable::read(libc.value().elf(), SymbolTable::Kind::kDynamic);
  bool has_write = false, has_underscored_write = false;
  for (std::uint64_t address = 0; address < 0x200000; ++address) {
    const auto symbol = table.find({address});
    if (!symbol) continue;
    EXPECT_EQ(symbol->name.find('@'), std::string_view::npos);
    has_write = has_write || symbol->name == "write";
    has_underscored_write = has_underscored_write || symbol->name == "__write";
  }
  EXPECT_TRUE(has_write);
  EXPECT_FALSE(has_underscored_write);
}

TEST(PltEntries, NameTheFunctionBehindTheStub) {
  const std::string path = fixture("libdynamic.so");
  const auto file = ElfFile::open(path);
  ASSERT_TRUE(file);
  const PltEntries plt = PltEntries::read(file.value().elf());
  bool found = false;
  for (std::uint64_t address = 0; address < 0x4000 && !found; ++address) {
    const auto entry = plt.find({address});
    found = entry && entry->symbol == "strtol";  // the type of atoi
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(plt.find({0}));
}

TEST(PltEntries, OfAarch64MayBeginWithALandingPad) {
  const std::string path = fixture("plt_aarch64");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no yaml2obj here";
  const auto file = ElfFile::open(path);
  ASSERT_TRUE(file);
  const PltEntries plt = PltEntries::read(file.value().elf());
  const auto symbol_at = [&plt](std::uint64_t address) {
    const auto entry = plt.find({address});
    return entry ? entry->symbol : "";
  };
  EXPECT_EQ(symbol_at(0xC980), "");  // the first stub resolves symbols
  EXPECT_EQ(symbol_at(0xC9A0), "fputs");
  EXPECT_EQ(symbol_at(0xC9AC), "fputs");
  EXPECT_EQ(symbol_at(0xC9B0), "qsort");
  EXPECT_EQ(symbol_at(0xC9C0), "strtod");
  EXPECT_EQ(symbol_at(0xC9D0), "strtod");
  EXPECT_EQ(symbol_at(0xC9D4), "");
}

}  // namespace
}  // namespace swipr::symbolize::test
