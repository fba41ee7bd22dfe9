#include "symbolize/elf/go_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

std::vector<char> go_program(const char* name = "go_table") {
  const std::string path = fixture(name);
  std::vector<char> bytes(std::filesystem::file_size(path));
  std::ifstream(path, std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Where its table begins in the file.
char* go_table_in(std::vector<char>& bytes) {
  const std::string magic("\xF1\xFF\xFF\xFF\0\0\x01\x08", 8);
  return &*std::search(bytes.begin(), bytes.end(), magic.begin(), magic.end());
}

struct GoProgram {
  explicit GoProgram(std::vector<char> bytes)
      : file(std::move(ElfFile::from_memory(std::move(bytes)).value())) {
    file.load_symbols();
    text = file.section(".text").address.value;
    functions = GoFunctions::read(file);
  }
  // "name file:line, declared in line N" of each, innermost first
  std::string at(std::uint64_t offset) const {
    std::string text_of_all;
    for (const GoFunctions::Function& found : functions.find({text + offset})) {
      if (!text_of_all.empty()) text_of_all += ", ";
      text_of_all += std::string(found.name) + " " + std::string(found.file) + ":" +
                     std::to_string(found.line) + " " + std::to_string(found.start_line) + " +" +
                     std::to_string(text + offset - found.begin.value);
    }
    return text_of_all.empty() ? "none" : text_of_all;
  }
  ElfFile file;
  std::uint64_t text = 0;
  GoFunctions functions;
};

TEST(GoFunctions, HaveNamesFilesAndLines) {
  const GoProgram program(go_program());
  EXPECT_FALSE(program.functions.empty());
  EXPECT_EQ(program.at(0), "main.first /src/first.go:10 9 +0");
  EXPECT_EQ(program.at(7), "main.first /src/first.go:10 9 +7");
  EXPECT_EQ(program.at(8), "main.first /src/first.go:11 9 +8");
  EXPECT_EQ(program.at(31), "main.first /src/first.go:11 9 +31");
  EXPECT_EQ(program.at(32), "main.(*T).second /src/first.go:100 98 +0");
  EXPECT_EQ(program.at(43), "main.(*T).second /src/first.go:100 98 +11");
}

constexpr const char* kOuter =
    "main.outer /src/first.go:100 60 +12, main.(*T).second /src/first.go:100 98 +12";
constexpr const char* kInner =
    "main.inner /src/second.go:93 70 +16, main.outer /src/first.go:100 60 +16, "
    "main.(*T).second /src/first.go:100 98 +16";

TEST(GoFunctions, HaveWhatWasInlined) {
  const GoProgram program(go_program());
  EXPECT_EQ(program.at(44), kOuter);
  EXPECT_EQ(program.at(48), kInner);
  EXPECT_EQ(program.at(63),
            "main.outer /src/second.go:93 60 +31, main.(*T).second /src/first.go:100 98 +31");
}

TEST(GoFunctions, OfPositionIndependentProgramsAreRelocated) {
  const GoProgram program(go_program("go_table_external"));
  EXPECT_EQ(program.at(8), "main.first /src/first.go:11 9 +8");
  EXPECT_EQ(program.at(44), kOuter);
  EXPECT_EQ(program.at(48), kInner);
}

TEST(GoFunctions, CoverNothingElse) {
  const GoProgram program(go_program());
  EXPECT_EQ(program.at(64), "none") << "a function in C";
  EXPECT_TRUE(program.functions.find({0}).empty());
  EXPECT_TRUE(program.functions.find({program.text - 1}).empty());
  EXPECT_TRUE(program.functions.find({~std::uint64_t{0}}).empty());
}

TEST(GoFunctions, TextMayBeginWhereTheHeaderSays) {
  std::vector<char> bytes = go_program();
  const std::uint64_t text = GoProgram(bytes).text + 16;
  std::memcpy(go_table_in(bytes) + 24, &text, sizeof text);
  EXPECT_EQ(GoProgram(bytes).at(16), "main.first /src/first.go:10 9 +0");
}

TEST(GoFunctions, OfGo118HaveNoLineOfTheirDeclaration) {
  std::vector<char> bytes = go_program();
  *go_table_in(bytes) = '\xF0';
  EXPECT_EQ(GoProgram(bytes).at(0), "main.first /src/first.go:10 0 +0");
}

TEST(GoFunctions, OfOtherVersionsAreNotRead) {
  for (const char magic : {'\xFA', '\xFB', '\xF2'}) {
    std::vector<char> bytes = go_program();
    *go_table_in(bytes) = magic;
    EXPECT_TRUE(GoProgram(bytes).functions.empty());
  }
}

TEST(GoFunctions, AreNotInOtherPrograms) {
  const auto file = ElfFile::open(fixture("chain_stripped"));
  ASSERT_TRUE(file);
  EXPECT_TRUE(GoFunctions::read(file.value()).empty());
}

// Every byte of the table changed in three ways: nothing outside of the sections is read
// (AddressSanitizer), every lookup ends.
TEST(GoFunctions, StandDamage) {
  const std::vector<char> whole = go_program();
  for (std::size_t at = 0; at < 500; ++at) {
    for (const char change : {'\x01', '\x80', '\xFF'}) {
      std::vector<char> bytes = whole;
      char& byte = go_table_in(bytes)[at];
      byte = static_cast<char>(byte ^ change);
      const GoProgram program(std::move(bytes));
      for (std::uint64_t offset = 0; offset < 80; offset += 5) program.at(offset);
    }
  }
}

}  // namespace
}  // namespace swipr::symbolize::test
