#include "symbolize/elf/function_starts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "symbolize/elf/symbol_table.h"
#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

TEST(FunctionStarts, AreThoseOfTheSymbolsThatWereStripped) {
  const std::string whole = fixture("chain_only_symtab");
  const auto symbols_file = ElfFile::open(whole);
  const auto file = ElfFile::open(fixture("chain_stripped"));
  ASSERT_TRUE(symbols_file && file);
  const auto symbols = SymbolTable::read(symbols_file.value().elf(), SymbolTable::Kind::kStatic);
  const FunctionStarts starts = FunctionStarts::read(file.value());
  for (const char* name : {"main", "_ZN4shop3buyEi", "_Z10mostly_hoti", "_Z10mostly_hoti.cold"}) {
    const auto begin = file.value().image_address(offset_of(whole, name));
    ASSERT_TRUE(begin) << name;
    for (std::uint64_t delta = 0; delta < 3; ++delta) {
      const ImageAddr inside{begin->value + delta};
      ASSERT_EQ(symbols.find(inside)->begin, *begin) << name;
      EXPECT_EQ(starts.find(inside), begin) << name;
    }
  }
}

TEST(FunctionStarts, CoverNothingOutsideOfFunctions) {
  const auto file = ElfFile::open(fixture("chain_stripped"));
  ASSERT_TRUE(file);
  const FunctionStarts starts = FunctionStarts::read(file.value());
  EXPECT_FALSE(starts.find({0}));
  EXPECT_FALSE(starts.find({~std::uint64_t{0}}));
}

// Truncated at every byte, and with every byte changed: nothing outside of the sections is read
// (AddressSanitizer).
TEST(FunctionStarts, StandDamage) {
  const auto bytes_of = [](const std::string& path) {
    std::vector<char> bytes(std::filesystem::file_size(path));
    std::ifstream(path, std::ios::binary)
        .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  };
  const std::vector<char> whole = bytes_of(fixture("chain_stripped"));
  const auto file = ElfFile::from_memory(whole);
  ASSERT_TRUE(file);
  const std::string_view index = file.value().section(".eh_frame_hdr").bytes;
  const std::size_t start = std::string_view(whole.data(), whole.size()).find(index);
  ASSERT_NE(start, std::string_view::npos);
  for (std::size_t at = start; at < start + index.size(); ++at) {
    std::vector<char> damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    const auto broken = ElfFile::from_memory(std::move(damaged));
    ASSERT_TRUE(broken);
    const FunctionStarts starts = FunctionStarts::read(broken.value());
    for (std::uint64_t address = 0; address < 0x3000; address += 5) {
      const auto found = starts.find({address});
      EXPECT_LE(found.value_or(ImageAddr{0}).value, address);
    }
  }
}

}  // namespace
}  // namespace swipr::symbolize::test
