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

}  // namespace
}  // namespace swipr::agent
