#include "symbolize/files/debug_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

using testing::HasSubstr;

class ModuleFilesTest : public testing::Test {
 protected:
  ModuleFilesTest() { options_.debug_directories = {folder_.path("debug")}; }

  TemporaryFolder folder_;
  Options options_;
  const std::string chain_ = fixture("chain_dwarf5");
  const std::string id_ = build_id_of(chain_);
};

TEST_F(ModuleFilesTest, AcceptsTheRecordedBuildId) {
  const ModuleFiles files = find_module_files({chain_, id_, 0}, options_);
  ASSERT_TRUE(files.image);
  EXPECT_EQ(files.path, chain_);
  EXPECT_EQ(files.note, "");
}

TEST_F(ModuleFilesTest, AcceptsAnyFileForAnUnknownBuildId) {
  EXPECT_TRUE(find_module_files({chain_, "", 0}, options_).image);
}

TEST_F(ModuleFilesTest, RefusesAnotherBuildId) {
  const ModuleFiles files = find_module_files({fixture("chain_dwarf4"), id_, 0}, options_);
  EXPECT_FALSE(files.image);
  EXPECT_THAT(files.note, HasSubstr(id_));
  EXPECT_THAT(files.note, HasSubstr(build_id_of(fixture("chain_dwarf4"))));
}

TEST_F(ModuleFilesTest, RefusesAFileWithoutTheRecordedBuildId) {
  const ModuleFiles files = find_module_files({fixture("chain_without_id"), id_, 0}, options_);
  EXPECT_FALSE(files.image);
  EXPECT_THAT(files.note, HasSubstr("build-id missing"));
}

TEST_F(ModuleFilesTest, FindsAReplacedFileByBuildId) {
  TemporaryFolder debug;
  debug.add_by_build_id(chain_, "");
  options_.debug_directories = {debug.path("")};
  const ModuleFiles files = find_module_files({fixture("chain_dwarf4"), id_, 0}, options_);
  ASSERT_TRUE(files.image);
  EXPECT_EQ(files.image->build_id(), id_);
  EXPECT_EQ(files.note, "");
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class FetchedModuleTest : public ModuleFilesTest {
 protected:
  FetchedModuleTest() {
    options_.cache_folder = folder_.path("cache");
    options_.fetch_module = [this](std::int32_t, const std::string&, int fd) {
      ++fetched_;
      return ::write(fd, served_.data(), served_.size()) == static_cast<ssize_t>(served_.size());
    };
  }
  bool is_found() { return find_module_files({"/not/here", id_, 1}, options_).image.has_value(); }

  std::string served_ = read_bytes(chain_);
  int fetched_ = 0;
};

TEST_F(FetchedModuleTest, IsFetchedOnce) {
  EXPECT_TRUE(is_found());
  EXPECT_TRUE(is_found());
  EXPECT_EQ(fetched_, 1);
  options_.fetch_module = nullptr;
  EXPECT_TRUE(is_found());
  options_.cache_folder.clear();
  EXPECT_FALSE(is_found());
}

TEST_F(FetchedModuleTest, IsNotFetchedWhenItCanBeOpened) {
  EXPECT_TRUE(find_module_files({chain_, id_, 1}, options_).image);
  EXPECT_EQ(fetched_, 0);
}

TEST_F(FetchedModuleTest, AnotherOrACutFileIsNotKept) {
  served_ = read_bytes(fixture("chain_dwarf4"));
  EXPECT_FALSE(is_found());
  served_ = read_bytes(chain_).substr(0, 40);
  EXPECT_FALSE(is_found());
  EXPECT_EQ(fetched_, 2);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path("cache/modules")));
}

TEST_F(ModuleFilesTest, DoesNotTakeADebugFileForTheModule) {
  TemporaryFolder debug;
  debug.add_by_build_id(fixture("chain.debug"), ".debug");
  options_.debug_directories = {debug.path("")};
  EXPECT_FALSE(find_module_files({folder_.path("gone"), id_, 0}, options_).image);
}

TEST_F(ModuleFilesTest, LooksBehindTheDeletedMark) {
  EXPECT_TRUE(find_module_files({chain_ + " (deleted)", id_, 0}, options_).image);
}

TEST_F(ModuleFilesTest, SaysThatADeletedFileIsGone) {
  const ModuleFiles files = find_module_files({"/no/such/file (deleted)", id_, 0}, options_);
  EXPECT_FALSE(files.image);
  EXPECT_EQ(files.note, "/no/such/file: No such file or directory");
}

TEST_F(ModuleFilesTest, TriesTheRootOfALivingProcess) {
  EXPECT_TRUE(find_module_files({chain_, id_, ::getpid()}, options_).image);
}

TEST_F(ModuleFilesTest, TakesTheRunningProgramWhenItsFileIsGone) {
  const std::string own = build_id_of("/proc/self/exe");
  if (own.empty()) GTEST_SKIP() << "this compiler writes no build-ids";
  EXPECT_TRUE(find_module_files({"/no/such/file (deleted)", own, ::getpid()}, options_).image);
  EXPECT_FALSE(find_module_files({"/no/such/file (deleted)", id_, ::getpid()}, options_).image);
}

TEST_F(ModuleFilesTest, RefusesNamesThatAreNoPaths) {
  for (const char* path : {"", "//anon", "relative/file"}) {
    const ModuleFiles files = find_module_files({path, "", 0}, options_);
    EXPECT_FALSE(files.image) << path;
    EXPECT_NE(files.note, "") << path;
  }
}

TEST_F(ModuleFilesTest, MissesNoFileBehindANameInBrackets) {
  for (const char* path : {"[anon]", "[heap]", "[vsyscall]"}) {
    const ModuleFiles files = find_module_files({path, "", 0}, options_);
    EXPECT_FALSE(files.image) << path;
    EXPECT_EQ(files.note, "") << path;
  }
}

TEST_F(ModuleFilesTest, LetsNoBuildIdLeaveTheDebugDirectory) {
  for (const char* id : {"../../etc/passwd", "a", "..", "ABCDEF", "ab/../../x"}) {
    EXPECT_FALSE(find_module_files({"/no/such/file", id, 0}, options_).image) << id;
  }
}

TEST_F(ModuleFilesTest, FindsDebugFilesByBuildId) {
  TemporaryFolder debug;
  debug.add_by_build_id(fixture("chain.debug"), ".debug");
  options_.debug_directories = {folder_.path("none"), debug.path("")};
  const auto image = ElfFile::open(fixture("chain_stripped"));
  ASSERT_TRUE(image);
  EXPECT_TRUE(find_debug_file(image.value(), fixture("chain_stripped"), options_));
  options_.debug_directories = {folder_.path("none")};
  EXPECT_FALSE(find_debug_file(image.value(), fixture("chain_stripped"), options_));
}

TEST_F(ModuleFilesTest, FindsDebugFilesByLink) {
  const std::string linked = fixture("chain_linked");
  const auto image = ElfFile::open(linked);
  ASSERT_TRUE(image);
  // The link names chain.debug, which the build put beside the fixture.
  EXPECT_TRUE(find_debug_file(image.value(), linked, options_));
  EXPECT_FALSE(find_debug_file(image.value(), folder_.path("moved"), options_));
  folder_.copy(fixture("chain.debug"), ".debug/chain.debug");
  EXPECT_TRUE(find_debug_file(image.value(), folder_.path("moved"), options_));
}

TEST_F(ModuleFilesTest, RefusesALinkedDebugFileOfAnotherBuild) {
  folder_.copy(fixture("chain_dwarf4"), "chain.debug");
  const auto image = ElfFile::open(fixture("chain_linked"));
  ASSERT_TRUE(image);
  EXPECT_FALSE(find_debug_file(image.value(), folder_.path("moved"), options_));
}

}  // namespace
}  // namespace swipr::symbolize::test
