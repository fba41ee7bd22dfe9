#include "cli/commands/output/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace swipr::commands {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string name = (fs::temp_directory_path() / "swipr-unit.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~OutputFileTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  static void write(const OutputFile& file, std::string_view text) {
    EXPECT_EQ(::write(file.fd(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  static std::string contents(const fs::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  long files_in_folder() const { return std::distance(fs::directory_iterator(folder_), {}); }

  fs::path folder_;
};

TEST_F(OutputFileTest, AppearsWhenCommitted) {
  const fs::path path = folder_ / "out";
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file);
  write(*file, "new");
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(contents(path), "new");
  EXPECT_EQ(files_in_folder(), 1);
}

TEST_F(OutputFileTest, LeavesTheOldOneWithoutCommit) {
  const fs::path path = folder_ / "out";
  std::ofstream(path) << "old";
  {
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file);
    write(*file, "half");
  }
  EXPECT_EQ(contents(path), "old");
  EXPECT_EQ(files_in_folder(), 1);
}

TEST_F(OutputFileTest, ReplacesTheFileBehindASymlinkAndKeepsItsMode) {
  const fs::path path = folder_ / "real";
  std::ofstream(path) << "old";
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  fs::create_symlink("real", folder_ / "link");
  auto file = OutputFile::create(folder_ / "link");
  ASSERT_TRUE(file);
  write(*file, "new");
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(contents(path), "new");
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(OutputFileTest, DoesNotFollowLinksOfOthers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes links of other users";
  std::ofstream(folder_ / "real") << "precious";
  fs::create_symlink("real", folder_ / "link");
  ASSERT_EQ(::lchown((folder_ / "link").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(OutputFile::create(folder_ / "link"));
  EXPECT_EQ(contents(folder_ / "real"), "precious");
}

TEST_F(OutputFileTest, WritesDevicesDirectly) {
  auto file = OutputFile::create("/dev/null");
  ASSERT_TRUE(file);
  write(*file, "gone");
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, NamesWhatCannotBeWritten) {
  for (const fs::path& path : {folder_ / "no" / "such" / "folder", folder_}) {
    const auto file = OutputFile::create(path);
    ASSERT_FALSE(file) << path;
    EXPECT_THAT(file.error().message(), testing::HasSubstr("cannot write " + path.string()));
  }
}

}  // namespace
}  // namespace swipr::commands
