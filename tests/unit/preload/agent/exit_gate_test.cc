#include "preload/agent/guest/exit_gate.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "preload/agent/threads/own_waiters.h"

namespace swipr::agent {
namespace {

using namespace std::chrono_literals;

class AgentExitGate : public testing::Test {
 protected:
  AgentExitGate() { exit_gate::reset_after_fork(); }
  ~AgentExitGate() override {
    exit_gate::update(false);
    exit_gate::reset_after_fork();
  }
  static bool readable(int timeout_ms) {
    pollfd entry{exit_gate::poll_fd(), POLLIN, 0};
    return ::poll(&entry, 1, timeout_ms) == 1;
  }
};

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

TEST_F(AgentExitGate, WakesTheControlThreadAndWaitsForIt) {
  exit_gate::set_owner(::getpid());
  std::atomic<bool> armed{false};
  std::atomic<bool> finished{false};
  std::thread control([&] {
    block_all_signals();
    exit_gate::open();
    EXPECT_TRUE(exit_gate::enter_recording());
    exit_gate::update(true);
    armed.store(true);
    armed.notify_one();
    EXPECT_TRUE(readable(-1));
    EXPECT_TRUE(exit_gate::is_exit_asked());
    finished.store(true);
    exit_gate::report_finished();
  });
  armed.wait(false);
  exit_gate::pass();
  EXPECT_TRUE(finished.load());
  control.join();
}

TEST_F(AgentExitGate, WaitsForAFlushAndGoesOn) {
  exit_gate::set_owner(::getpid());
  std::atomic<bool> armed{false};
  std::thread control([&] {
    block_all_signals();
    exit_gate::open();
    EXPECT_TRUE(exit_gate::enter_recording());
    exit_gate::update(true);
    armed.store(true);
    armed.notify_one();
    EXPECT_TRUE(readable(-1));
    exit_gate::on_readable();
    while (!exit_gate::is_flush_asked()) std::this_thread::yield();
    EXPECT_FALSE(exit_gate::is_exit_asked());
    exit_gate::report_flushed();
    EXPECT_FALSE(readable(0)) << "the signal is used up";
    EXPECT_FALSE(exit_gate::is_flush_asked());
  });
  armed.wait(false);
  exit_gate::ask_for_flush();
  control.join();
  EXPECT_FALSE(own_waiters::contains(Tid{::gettid()}));
}

TEST_F(AgentExitGate, FlushIsNothingWithoutARecordingOrToOtherProcesses) {
  exit_gate::set_owner(::getpid());
  exit_gate::ask_for_flush();
  EXPECT_TRUE(exit_gate::enter_recording());
  exit_gate::set_owner(::getpid() + 1);
  exit_gate::ask_for_flush();
  EXPECT_FALSE(exit_gate::is_flush_asked());
}

TEST_F(AgentExitGate, StartsNothingOnceTheProcessExits) {
  exit_gate::set_owner(::getpid());
  exit_gate::pass();
  EXPECT_FALSE(exit_gate::enter_recording());
  EXPECT_FALSE(exit_gate::begin_places());
}

TEST_F(AgentExitGate, IsNothingToOtherProcesses) {
  exit_gate::set_owner(::getpid() + 1);
  exit_gate::pass();
  EXPECT_FALSE(exit_gate::is_exit_asked());
}

TEST_F(AgentExitGate, WakesForNobodyElse) {
  // In a thread: the mask goes with it.
  std::thread([] {
    block_all_signals();
    exit_gate::open();
    ASSERT_GE(exit_gate::poll_fd(), 0);
    for (int number : {SIGURG, SIGWINCH, SIGTERM, SIGRTMIN, SIGRTMAX}) ::raise(number);
    EXPECT_FALSE(readable(0));
    EXPECT_EQ(exit_gate::look_again_at(Moment{0}), kNever);
  }).join();
}

TEST_F(AgentExitGate, ParksOneThatIsStillStarting) {
  exit_gate::set_owner(::getpid());
  std::thread control([] {
    block_all_signals();
    exit_gate::open();
    EXPECT_TRUE(readable(-1));
    exit_gate::on_readable();
    EXPECT_TRUE(exit_gate::begin_parking());
    EXPECT_FALSE(exit_gate::begin_parking());
    EXPECT_TRUE(exit_gate::end_parking());
  });
  control.detach();
  EXPECT_TRUE(exit_gate::ask_to_park(exit_gate::WhenLate::kStays));
  EXPECT_FALSE(exit_gate::ask_to_park(exit_gate::WhenLate::kStays)) << "nobody is there any more";
}

// Takes the two seconds that the asking thread waits.
TEST_F(AgentExitGate, OneThatIsTooLateToParkServesOn) {
  exit_gate::set_owner(::getpid());
  std::atomic<bool> given_up{false};
  std::thread control([&] {
    block_all_signals();
    exit_gate::open();
    ASSERT_TRUE(exit_gate::begin_places());
    exit_gate::end_places();
    EXPECT_TRUE(readable(-1));
    exit_gate::on_readable();
    EXPECT_TRUE(exit_gate::begin_parking());
    given_up.wait(false);
    EXPECT_FALSE(exit_gate::end_parking());
    EXPECT_TRUE(exit_gate::begin_places());
    exit_gate::end_places();
    // It can be woken and parked as before.
    EXPECT_TRUE(readable(-1));
    exit_gate::on_readable();
    EXPECT_TRUE(exit_gate::begin_parking());
    EXPECT_TRUE(exit_gate::end_parking());
  });
  EXPECT_FALSE(exit_gate::ask_to_park(exit_gate::WhenLate::kStays));
  given_up.store(true);
  given_up.notify_one();
  control.detach();
  while (!exit_gate::ask_to_park(exit_gate::WhenLate::kStays)) std::this_thread::yield();
}

TEST_F(AgentExitGate, ParksNobodyWhereNoneCameToBe) {
  exit_gate::set_owner(::getpid());
  exit_gate::set_absent();
  EXPECT_FALSE(exit_gate::ask_to_park(exit_gate::WhenLate::kStays));
}

TEST_F(AgentExitGate, RemovesSocketFiles) {
  const std::string path = testing::TempDir() + "exit_gate_test.sock";
  std::ofstream(path) << "x";
  exit_gate::set_owner(::getpid());
  ASSERT_TRUE(exit_gate::begin_places());
  exit_gate::add_socket_file(path);
  exit_gate::end_places();
  exit_gate::pass();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_F(AgentExitGate, LeavesNoSocketFileToTheNextImage) {
  const std::string path = testing::TempDir() + "exit_gate_exec_test.sock";
  exit_gate::set_owner(::getpid());
  ASSERT_TRUE(exit_gate::begin_places());
  std::ofstream(path) << "x";
  exit_gate::add_socket_file(path);
  exit_gate::end_places();
  exit_gate::leave_places();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_FALSE(exit_gate::begin_places_again()) << "the image is about to be replaced";
  EXPECT_FALSE(exit_gate::take_wish_for_places());
  exit_gate::return_to_places();
  EXPECT_TRUE(exit_gate::take_wish_for_places());
  EXPECT_FALSE(exit_gate::take_wish_for_places());
  EXPECT_TRUE(exit_gate::begin_places_again());
  exit_gate::end_places();
}

TEST_F(AgentExitGate, MakesNoSocketFileWhileTheImageIsReplaced) {
  exit_gate::set_owner(::getpid());
  exit_gate::leave_places();
  EXPECT_FALSE(exit_gate::begin_places());
  exit_gate::return_to_places();
  EXPECT_TRUE(exit_gate::begin_places());
  exit_gate::end_places();
  exit_gate::set_owner(::getpid() + 1);
  exit_gate::leave_places();  // a child of vfork
  EXPECT_TRUE(exit_gate::begin_places_again());
  exit_gate::end_places();
}

TEST_F(AgentExitGate, TheControlThreadRemovesSocketFilesThatTheExitDoesNotFind) {
  exit_gate::set_owner(::getpid());
  std::atomic<bool> armed{false};
  std::thread control([&] {
    block_all_signals();
    ASSERT_TRUE(exit_gate::begin_places());
    exit_gate::add_socket_file("/no/such/folder/x.sock");
    exit_gate::end_places();
    exit_gate::open();
    armed.store(true);
    armed.notify_one();
    EXPECT_TRUE(readable(-1));
    exit_gate::on_readable();
    EXPECT_TRUE(exit_gate::is_exit_asked());
    exit_gate::report_finished();
  });
  armed.wait(false);
  exit_gate::pass();
  control.join();
}

}  // namespace
}  // namespace swipr::agent
