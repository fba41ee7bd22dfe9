#include "common/host/output_place.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace swipr::host {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

// A folder like /tmp: writable by all users, sticky.
class OutputPlaceTest : public testing::Test {
 protected:
  OutputPlaceTest() {
    std::string name = (fs::temp_directory_path() / "swipr-place.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    EXPECT_EQ(::chmod(folder_.c_str(), 01777), 0);
  }
  ~OutputPlaceTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  static std::string error_of(const fs::path& path) {
    const auto place = find_output_place(path);
    if (!place) return place.error().message();
    const auto opened = open_output(*place, O_CREAT | O_TRUNC, path);
    return opened ? "" : opened.error().message();
  }
  static std::string contents(const fs::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  fs::path file(const char* name, std::string_view text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  fs::path folder_;
};

TEST_F(OutputPlaceTest, MakesANewFile) {
  EXPECT_EQ(error_of(folder_ / "new"), "");
  EXPECT_TRUE(fs::is_regular_file(folder_ / "new"));
}

TEST_F(OutputPlaceTest, FollowsTheUsersOwnLinks) {
  file("real", "old");
  fs::create_symlink("real", folder_ / "link");
  fs::create_directory(folder_ / "inner");
  fs::create_symlink(folder_ / "inner", folder_ / "way");
  EXPECT_EQ(error_of(folder_ / "link"), "");
  EXPECT_EQ(contents(folder_ / "real"), "");
  EXPECT_EQ(error_of(folder_ / "way" / ".." / "way" / "new"), "");
  EXPECT_TRUE(fs::exists(folder_ / "inner" / "new"));
  fs::create_symlink("later", folder_ / "dangling");
  EXPECT_EQ(error_of(folder_ / "dangling"), "");
  EXPECT_TRUE(fs::exists(folder_ / "later"));
}

TEST_F(OutputPlaceTest, EndsWhereLinksGoInCircles) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_THAT(error_of(folder_ / "a"), HasSubstr("Too many levels of symbolic links"));
}

TEST_F(OutputPlaceTest, DoesNotFollowLinksOfOthers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes links of other users";
  file("real", "precious");
  fs::create_symlink("real", folder_ / "link");
  fs::create_symlink(folder_, folder_ / "way");
  for (const char* name : {"link", "way"}) {
    ASSERT_EQ(::lchown((folder_ / name).c_str(), kNobody, kNobody), 0);
  }
  EXPECT_THAT(error_of(folder_ / "link"), HasSubstr("'link' is a symbolic link of user 65534"));
  EXPECT_THAT(error_of(folder_ / "way" / "real"), HasSubstr("'way' is a symbolic link of"));
  EXPECT_EQ(contents(folder_ / "real"), "precious");
}

TEST_F(OutputPlaceTest, LeavesFilesOfOthersInSharedFoldersAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes files of other users";
  const fs::path path = file("theirs", "trap");
  ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(error_of(path), HasSubstr("the file belongs to user 65534"));
  EXPECT_EQ(contents(path), "trap");
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(error_of(path), "");
}

TEST_F(OutputPlaceTest, LeavesFilesWithOtherNamesInSharedFoldersAlone) {
  const fs::path path = file("real", "precious");
  fs::create_hard_link(path, folder_ / "name");
  EXPECT_THAT(error_of(folder_ / "name"), HasSubstr("the file has another name"));
  EXPECT_EQ(contents(path), "precious");
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  EXPECT_EQ(error_of(folder_ / "name"), "");
}

TEST_F(OutputPlaceTest, LeavesLinksOfProcToTheKernel) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  const std::string path = "/dev/fd/" + std::to_string(write_end.value());
  const auto place = find_output_place(path);
  ASSERT_TRUE(place) << place.error().message();
  EXPECT_TRUE(place->is_magic);
  const auto opened = open_output(*place, 0, path);
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ(::write(opened->value(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(read_end.value(), &byte, 1), 1);
}

TEST_F(OutputPlaceTest, NamesWhatIsMissing) {
  EXPECT_THAT(error_of("/no/such/x"), HasSubstr("cannot write /no/such/x: No such file"));
  EXPECT_THAT(error_of(""), HasSubstr("No such file"));
  EXPECT_THAT(error_of(folder_), HasSubstr("Is a directory"));
  EXPECT_THAT(error_of(file("plain", "") / "x"), HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace swipr::host
