#include "preload/agent/proc/thread_pointer.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <future>
#include <thread>

namespace swipr::agent {
namespace {

// Waits until the test ends, with a list of robust mutexes of its own if `list` is set.
class WaitingThread {
 public:
  explicit WaitingThread(const void* list = nullptr) : thread_([this, list] { run(list); }) {
    begun_.get_future().wait();
  }
  ~WaitingThread() { end(); }
  void end() {
    if (!thread_.joinable()) return;
    ended_.set_value();
    thread_.join();
  }
  Tid tid() const { return tid_; }
  std::uint64_t pointer() const { return pointer_; }

 private:
  void run(const void* list) {
    constexpr std::size_t kHeadBytes = 24;
    tid_ = Tid{static_cast<std::int32_t>(::syscall(SYS_gettid))};
    pointer_ = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
    if (list != nullptr) {
      EXPECT_EQ(::syscall(SYS_set_robust_list, list, kHeadBytes), 0);
    }
    begun_.set_value();
    ended_.get_future().wait();
  }

  Tid tid_{};
  std::uint64_t pointer_ = 0;
  std::promise<void> begun_, ended_;
  std::thread thread_;
};

class ThreadPointer : public testing::Test {
 protected:
  ThreadPointer() { EXPECT_TRUE(memory_.open()); }
  ~ThreadPointer() override { memory_.close(); }
  ProcMemory memory_;
};

TEST_F(ThreadPointer, OfOtherThreadsIsFound) {
  WaitingThread one;
  WaitingThread other;
  EXPECT_EQ(find_thread_pointer(one.tid(), memory_), one.pointer());
  EXPECT_EQ(find_thread_pointer(other.tid(), memory_), other.pointer());
}

TEST_F(ThreadPointer, OfTheMainThreadIsFoundByOthers) {
  const auto own = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  std::uint64_t found = 0;
  std::thread([&] { found = find_thread_pointer(Tid{::getpid()}, memory_); }).join();
  EXPECT_EQ(found, own);
}

TEST_F(ThreadPointer, OfAThreadThatIsGoneIsUnknown) {
  WaitingThread thread;
  thread.end();
  EXPECT_EQ(find_thread_pointer(thread.tid(), memory_), 0u);
}

TEST_F(ThreadPointer, IsUnknownIfTheListIsNotThatOfLibc) {
  struct {
    std::uint64_t before[2] = {};
    void* head[3] = {};
  } list;
  list.head[0] = &list.head[0];
  WaitingThread thread(&list.head);
  EXPECT_EQ(find_thread_pointer(thread.tid(), memory_), 0u);
}

}  // namespace
}  // namespace swipr::agent
