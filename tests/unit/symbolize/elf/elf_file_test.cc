#include "symbolize/elf/elf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

using testing::HasSubstr;

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::vector<char>(std::istreambuf_iterator<char>(file), {});
}

TEST(ElfFile, ReadsTheBuildId) {
  const auto file = ElfFile::open(fixture("chain_dwarf5"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file.value().build_id().size(), 40u);
  const auto without = ElfFile::open(fixture("chain_without_id"));
  ASSERT_TRUE(without);
  EXPECT_EQ(without.value().build_id(), "");
}

TEST(ElfFile, TranslatesOffsetsOfCode) {
  const auto file = ElfFile::open(fixture("chain_dwarf5"));
  ASSERT_TRUE(file);
  const FileOffset offset = offset_of(fixture("chain_dwarf5"), "main");
  const auto address = file.value().image_address(offset);
  ASSERT_TRUE(address);
  EXPECT_TRUE(file.value().is_code(*address));
  EXPECT_FALSE(file.value().is_code({0}));
  EXPECT_EQ(file.value().image_address({std::uint64_t{1} << 40}), std::nullopt);
}

TEST(ElfFile, KnowsThatDebugFilesHaveNoFileOffsets) {
  EXPECT_TRUE(ElfFile::open(fixture("chain_dwarf5")).value().has_file_offsets());
  EXPECT_FALSE(ElfFile::open(fixture("chain.debug")).value().has_file_offsets());
}

TEST(ElfFile, RefusesWhatIsNotARegularFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(ElfFile::open(folder.path("pipe")).error().message(),
              HasSubstr("not a regular file"));
  EXPECT_THAT(ElfFile::open("/dev/null").error().message(), HasSubstr("not a regular file"));
  EXPECT_THAT(ElfFile::open(folder.path("none")).error().message(), HasSubstr("No such file"));
}

TEST(ElfFile, RefusesWhatIsNotElf) {
  EXPECT_THAT(ElfFile::open(SWIPR_FIXTURE_SOURCES "/chain.cc").error().message(),
              HasSubstr("not an ELF file"));
  EXPECT_FALSE(ElfFile::from_memory({}));
  EXPECT_FALSE(ElfFile::from_memory({'\x7f', 'E', 'L', 'F'}));
}

TEST(ElfFile, SurvivesEveryTruncation) {
  const std::vector<char> whole = bytes_of(fixture("chain_stripped"));
  for (std::size_t size = 0; size < whole.size(); size += 61) {
    auto file =
        ElfFile::from_memory({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    if (!file) continue;
    EXPECT_LE(file.value().section(".text").bytes.size(), size);
  }
}

TEST(ElfFile, FindsSectionsByName) {
  const auto file = ElfFile::open(fixture("chain_dwarf5"));
  ASSERT_TRUE(file);
  EXPECT_FALSE(file.value().section(".text").bytes.empty());
  EXPECT_TRUE(file.value().section(".bss").bytes.empty());
  EXPECT_TRUE(file.value().section(".none").bytes.empty());
}

}  // namespace
}  // namespace swipr::symbolize::test
