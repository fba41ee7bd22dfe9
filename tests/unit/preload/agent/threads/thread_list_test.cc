#include "preload/agent/threads/thread_list.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace swipr::agent {
namespace {

// Threads that start together and end one after the other, the oldest first, over and over.
class Churn {
 public:
  ~Churn() {
    stop_ = true;
    starter_.join();
  }

 private:
  static constexpr int kBatch = 20;

  void start_and_end() const {
    while (!stop_) {
      std::vector<std::thread> batch;
      for (int at = 0; at < kBatch; ++at) {
        batch.emplace_back([at] {
          for (int turn = 0; turn < 20 * at; ++turn) std::this_thread::yield();
        });
      }
      for (std::thread& one : batch) one.join();
    }
  }

  std::atomic<bool> stop_{false};
  std::thread starter_{[this] { start_and_end(); }};
};

TEST(ThreadList, KeepsThreadsThatAListingHasSkippedBecauseOthersEnded) {
  constexpr int kEnded = 1'000;
  const Churn churn;
  ThreadList list;
  ASSERT_TRUE(list.open(Tid{::gettid()}));
  int ended = 0;
  int lost = 0;
  while (ended < kEnded) {
    ASSERT_TRUE(list.refresh([&](std::uint32_t place) {
      ++ended;
      if (::tgkill(::getpid(), list[place].tid.value, 0) == 0) ++lost;
    }));
  }
  list.close();
  EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace swipr::agent
