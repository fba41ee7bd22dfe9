#include "preload/agent/guest/gates/gates.h"

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

class AgentGates : public testing::Test {
 protected:
  AgentGates() { reset_gates(); }
  ~AgentGates() override {
    exit_gate::update(false);
    reset_gates();
  }
  static bool readable(int timeout_ms) {
    pollfd entry{control_presence::poll_fd(), POLLIN, 0};
    return ::poll(&entry, 1, timeout_ms) == 1;
  }
};

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

TEST_F(AgentGates, WakesTheControlThreadAndWaitsForIt) {
  control_presence::set_owner(::getpid());
  std::atomic<bool> armed{false};
  std::atomic<bool> finished{false};
  std::thread control([&] {
    block_all_signals();
    control_presence::open();
    EXPECT_TRUE(exit_gate::enter_recording());
    exit_gate::update(true);
    armed.store(true);
    armed.notify_one();
    EXPECT_TRUE(readable(-1));
    EXPECT_TRUE(exit_gate::is_asked());
    finished.store(true);
    exit_gate::report_finished();
  });
  armed.wait(false);
  exit_gate::pass();
  EXPECT_TRUE(finished.load());
  control.join();
}

TEST_F(AgentGates, WaitsForAFlushAndGoesOn) {
  control_presence::set_owner(::getpid());
  std::atomic<bool> armed{false};
  std::thread control([&] {
    block_all_signals();
    control_presence::open();
    EXPECT_TRUE(exit_gate::enter_recording());
    exit_gate::update(true);
    armed.store(true);
    armed.notify_one();
    EXPECT_TRUE(readable(-1));
    control_presence::on_readable();
    while (!flush_gate::is_asked()) std::this_thread::yield();
    EXPECT_FALSE(exit_gate::is_asked());
    flush_gate::report_done();
    EXPECT_FALSE(readable(0)) << "the signal is used up";
    EXPECT_FALSE(flush_gate::is_asked());
  });
  armed.wait(false);
  flush_gate::ask();
  control.join();
  EXPECT_FALSE(own_waiters::contains(Tid{::gettid()}));
}

TEST_F(AgentGates, FlushIsNothingWithoutARecordingOrToOtherProcesses) {
  control_presence::set_owner(::getpid());
  flush_gate::ask();
  EXPECT_TRUE(exit_gate::enter_recording());
  control_presence::set_owner(::getpid() + 1);
  flush_gate::ask();
  EXPECT_FALSE(flush_gate::is_asked());
}

TEST_F(AgentGates, StartsNothingOnceTheProcessExits) {
  control_presence::set_owner(::getpid());
  exit_gate::pass();
  EXPECT_FALSE(exit_gate::enter_recording());
  EXPECT_FALSE(socket_files::begin());
}

TEST_F(AgentGates, IsNothingToOtherProcesses) {
  control_presence::set_owner(::getpid() + 1);
  exit_gate::pass();
  EXPECT_FALSE(exit_gate::is_asked());
}

TEST_F(AgentGates, WakesForNobodyElse) {
  // In a thread, because the mask belongs to it.
  std::thread([] {
    block_all_signals();
    control_presence::open();
    ASSERT_GE(control_presence::poll_fd(), 0);
    for (int number : {SIGURG, SIGWINCH, SIGTERM, SIGRTMIN, SIGRTMAX}) ::raise(number);
    EXPECT_FALSE(readable(0));
    EXPECT_EQ(exit_gate::look_again_at(Moment{0}), kNever);
  }).join();
}

TEST_F(AgentGates, ParksOneThatIsStillStarting) {
  control_presence::set_owner(::getpid());
  std::thread control([] {
    block_all_signals();
    control_presence::open();
    EXPECT_TRUE(readable(-1));
    control_presence::on_readable();
    EXPECT_TRUE(park_gate::begin());
    EXPECT_FALSE(park_gate::begin());
    EXPECT_TRUE(park_gate::end());
  });
  control.detach();
  EXPECT_TRUE(park_gate::ask(park_gate::WhenLate::kStays));
  EXPECT_FALSE(park_gate::ask(park_gate::WhenLate::kStays)) << "nobody is there any more";
}

// Takes the two seconds that the asking thread waits.
TEST_F(AgentGates, OneThatIsTooLateToParkServesOn) {
  control_presence::set_owner(::getpid());
  std::atomic<bool> given_up{false};
  std::thread control([&] {
    block_all_signals();
    control_presence::open();
    ASSERT_TRUE(socket_files::begin());
    socket_files::end();
    EXPECT_TRUE(readable(-1));
    control_presence::on_readable();
    EXPECT_TRUE(park_gate::begin());
    given_up.wait(false);
    EXPECT_FALSE(park_gate::end());
    EXPECT_TRUE(socket_files::begin());
    socket_files::end();
    // It can be woken and parked as before.
    EXPECT_TRUE(readable(-1));
    control_presence::on_readable();
    EXPECT_TRUE(park_gate::begin());
    EXPECT_TRUE(park_gate::end());
  });
  EXPECT_FALSE(park_gate::ask(park_gate::WhenLate::kStays));
  given_up.store(true);
  given_up.notify_one();
  control.detach();
  while (!park_gate::ask(park_gate::WhenLate::kStays)) std::this_thread::yield();
}

TEST_F(AgentGates, ParksNobodyWhereNoneCameToBe) {
  control_presence::set_owner(::getpid());
  control_presence::set_absent();
  EXPECT_FALSE(park_gate::ask(park_gate::WhenLate::kStays));
}

TEST_F(AgentGates, RemovesSocketFiles) {
  const std::string path = testing::TempDir() + "exit_gate." + std::to_string(::getpid());
  std::ofstream(path) << "x";
  control_presence::set_owner(::getpid());
  ASSERT_TRUE(socket_files::begin());
  socket_files::add(path);
  socket_files::end();
  exit_gate::pass();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_F(AgentGates, LeavesNoSocketFileToTheNextImage) {
  const std::string path = testing::TempDir() + "exit_gate." + std::to_string(::getpid());
  control_presence::set_owner(::getpid());
  ASSERT_TRUE(socket_files::begin());
  std::ofstream(path) << "x";
  socket_files::add(path);
  socket_files::end();
  socket_files::leave();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_FALSE(socket_files::begin_again()) << "the image is about to be replaced";
  EXPECT_FALSE(socket_files::take_wish());
  socket_files::return_after_exec();
  EXPECT_TRUE(socket_files::take_wish());
  EXPECT_FALSE(socket_files::take_wish());
  EXPECT_TRUE(socket_files::begin_again());
  socket_files::end();
}

TEST_F(AgentGates, MakesNoSocketFileWhileTheImageIsReplaced) {
  control_presence::set_owner(::getpid());
  socket_files::leave();
  EXPECT_FALSE(socket_files::begin());
  socket_files::return_after_exec();
  EXPECT_TRUE(socket_files::begin());
  socket_files::end();
  control_presence::set_owner(::getpid() + 1);
  socket_files::leave();  // a child of vfork
  EXPECT_TRUE(socket_files::begin_again());
  socket_files::end();
}

TEST_F(AgentGates, TheControlThreadRemovesSocketFilesThatTheExitDoesNotFind) {
  control_presence::set_owner(::getpid());
  std::atomic<bool> armed{false};
  std::thread control([&] {
    block_all_signals();
    ASSERT_TRUE(socket_files::begin());
    socket_files::add("/no/such/folder/x.sock");
    socket_files::end();
    control_presence::open();
    armed.store(true);
    armed.notify_one();
    EXPECT_TRUE(readable(-1));
    control_presence::on_readable();
    EXPECT_TRUE(exit_gate::is_asked());
    exit_gate::report_finished();
  });
  armed.wait(false);
  exit_gate::pass();
  control.join();
}

}  // namespace
}  // namespace swipr::agent
