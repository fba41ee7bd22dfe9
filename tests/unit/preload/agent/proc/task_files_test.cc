#include "preload/agent/proc/task_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "common/host/unique_fd.h"

namespace swipr::agent {
namespace {

// A thread that waits until this object ends.
class WaitingThread {
 public:
  WaitingThread() { started_.acquire(); }
  ~WaitingThread() {
    end_.release();
    thread_.join();
  }
  Tid tid() const { return tid_; }

 private:
  Tid tid_{};
  std::binary_semaphore started_{0};
  std::binary_semaphore end_{0};
  std::thread thread_{[this] {
    tid_ = Tid{static_cast<std::int32_t>(::syscall(SYS_gettid))};
    started_.release();
    end_.acquire();
  }};
};

class TaskFilesTest : public testing::Test {
 protected:
  void TearDown() override {
    files_.close_all();
    EXPECT_EQ(open_descriptors(), descriptors_);
  }

  static std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
      ++count;
    }
    return count;
  }

  std::string wait_of(Tid tid) {
    return std::string(files_.read(directory_.value(), tid, TaskFiles::Kind::kSyscall, text_));
  }
  std::string times_of(Tid tid) {
    return std::string(files_.read(directory_.value(), tid, TaskFiles::Kind::kSchedstat, text_));
  }

  const host::UniqueFd directory_{::open("/proc/self/task", O_RDONLY | O_DIRECTORY)};
  const std::size_t descriptors_ = open_descriptors();
  TaskFiles files_;
  std::array<char, 256> text_{};
};

TEST_F(TaskFilesTest, ReadWhatIsThereNow) {
  const Tid self{static_cast<std::int32_t>(::syscall(SYS_gettid))};
  // The file shows the system call of its reader: first it is opened for the read, then it stays
  // open.
  EXPECT_TRUE(wait_of(self).starts_with(std::to_string(SYS_read) + " "));
  EXPECT_TRUE(wait_of(self).starts_with(std::to_string(SYS_pread64) + " "));
  EXPECT_TRUE(wait_of(self).starts_with(std::to_string(SYS_pread64) + " "));
  const std::string before = times_of(self);
  while (times_of(self) == before) {  // it has run meanwhile
  }
}

TEST_F(TaskFilesTest, KeepTheFilesOfThreadsThatAreReadAgain) {
  const WaitingThread thread;
  times_of(thread.tid());
  EXPECT_EQ(open_descriptors(), descriptors_);
  times_of(thread.tid());
  EXPECT_EQ(open_descriptors(), descriptors_ + 1);
  times_of(thread.tid());
  EXPECT_EQ(open_descriptors(), descriptors_ + 1);
}

TEST_F(TaskFilesTest, ReadManyThreadsThroughFewDescriptors) {
  std::vector<WaitingThread> threads(100);
  for (int round = 0; round < 20; ++round) {
    for (const WaitingThread& thread : threads) EXPECT_FALSE(times_of(thread.tid()).empty());
  }
  EXPECT_LE(open_descriptors(), descriptors_ + 32);
}

TEST_F(TaskFilesTest, SayNothingOfAThreadThatHasEnded) {
  Tid ended;
  {
    const WaitingThread thread;
    ended = thread.tid();
    for (int reading = 0; reading < 3; ++reading) EXPECT_FALSE(times_of(ended).empty());
  }
  // join returns shortly before the kernel removes the thread from its list.
  while (::faccessat(directory_.value(), std::to_string(ended.value).c_str(), F_OK, 0) == 0) {
  }
  EXPECT_EQ(times_of(ended), "");
  EXPECT_EQ(times_of(ended), "");
  EXPECT_EQ(open_descriptors(), descriptors_);
}

}  // namespace
}  // namespace swipr::agent
