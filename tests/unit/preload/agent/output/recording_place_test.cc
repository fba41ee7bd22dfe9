#include "preload/agent/output/recording_place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace swipr::agent {
namespace {

class AgentRecordingPlace : public testing::Test {
 protected:
  AgentRecordingPlace() {
    folder_ = testing::TempDir() + "recording_place." + std::to_string(::getpid());
    std::filesystem::create_directory(folder_);
  }
  ~AgentRecordingPlace() override {
    for (int fd : fds_) ::close(fd);
    std::filesystem::remove_all(folder_);
  }
  // The name below the folder, "" if there is none.
  std::string opened(const std::string& pattern) {
    PathText path;
    const int fd = open_recording_file(folder_ + pattern, 4711, path);
    if (fd < 0) return "";
    fds_.push_back(fd);
    return std::string(path.view()).substr(folder_.size());
  }
  static void set_age(const std::string& path, std::chrono::hours age) {
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - age);
  }

  std::string folder_;
  std::vector<int> fds_;
};

TEST_F(AgentRecordingPlace, ReplacesThePid) {
  EXPECT_EQ(opened("/a-{PID}-b.swipr"), "/a-4711-b.swipr");
  EXPECT_EQ(opened("/a-{PID}-b.swipr"), "/a-4711-b.2.swipr") << "of an earlier image";
}

TEST_F(AgentRecordingPlace, NamesFilesInAFolderAfterTheProgram) {
  EXPECT_EQ(opened(""), "/agent_test-4711.swipr");
  EXPECT_EQ(opened(""), "/agent_test-4711.2.swipr");
}

TEST_F(AgentRecordingPlace, LeavesAFileAloneThatIsBeingRecorded) {
  EXPECT_EQ(opened("/x.swipr"), "/x.swipr");
  EXPECT_EQ(opened("/x.swipr"), "/x-4711.swipr");
}

TEST_F(AgentRecordingPlace, ReplacesARecordingOfAnEarlierRun) {
  std::ofstream(folder_ + "/old") << "earlier";
  set_age(folder_ + "/old", std::chrono::hours(24 * 365));
  EXPECT_EQ(opened("/old"), "/old");
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/old"), 0u);
}

TEST_F(AgentRecordingPlace, KeepsWhatWasWrittenSinceTheProcessStarted) {
  std::ofstream(folder_ + "/new.swipr") << "of an earlier image";
  set_age(folder_ + "/new.swipr", std::chrono::hours(-1));
  EXPECT_EQ(opened("/new.swipr"), "/new-4711.swipr");
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/new.swipr"), 19u);
}

TEST_F(AgentRecordingPlace, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(opened("/pipe"), "");
  EXPECT_EQ(errno, EINVAL) << "without a reader";
  fds_.push_back(::open((folder_ + "/pipe").c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_EQ(opened("/pipe"), "");
  EXPECT_EQ(errno, EINVAL) << "with a reader";
  EXPECT_EQ(opened("/no/such/folder/x"), "");
  EXPECT_EQ(errno, ENOENT);
  PathText path;
  EXPECT_LT(open_recording_file("/dev/null", 1, path), 0);
  EXPECT_EQ(errno, EINVAL);
}

// In a folder like /tmp.
TEST_F(AgentRecordingPlace, OverwritesNothingOfOthersInASharedFolder) {
  const std::string target = folder_ + "/target";
  std::ofstream(target) << "precious";
  const std::string shared = folder_ + "/shared";
  std::filesystem::create_directory(shared);
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  std::filesystem::create_symlink(target, shared + "/link");
  std::filesystem::create_symlink(folder_ + "/new", shared + "/dangling");
  std::filesystem::create_hard_link(target, shared + "/second_name");
  std::ofstream(shared + "/of_nobody") << "precious";
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::chown((shared + "/of_nobody").c_str(), 65534, 65534), 0);
  }

  for (const char* name :
       {"/link", "/dangling", "/second_name", is_root ? "/of_nobody" : "/link"}) {
    set_age(target, std::chrono::hours(24 * 365));
    EXPECT_EQ(opened("/shared" + std::string(name)), "") << name;
    EXPECT_EQ(errno, ELOOP) << name;
  }
  EXPECT_EQ(std::filesystem::file_size(target), 8u);
  EXPECT_EQ(std::filesystem::file_size(shared + "/of_nobody"), 8u);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/new"));
  EXPECT_EQ(opened("/shared/new"), "/shared/new");
}

TEST_F(AgentRecordingPlace, FollowsALinkInAFolderOfItsOwn) {
  std::filesystem::create_symlink("target", folder_ + "/link");
  EXPECT_EQ(opened("/link"), "/link");
  EXPECT_TRUE(std::filesystem::is_regular_file(folder_ + "/target"));
}

}  // namespace
}  // namespace swipr::agent
