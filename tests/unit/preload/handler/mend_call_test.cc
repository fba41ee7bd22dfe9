#include "preload/handler/mend_call.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "preload/handler/signal_handler.h"

namespace swipr::handler {
namespace {

using Outcome = MendedCall::Outcome;

Pid self() { return Pid{::getpid()}; }
Tid self_thread() { return Tid{static_cast<std::int32_t>(::syscall(SYS_gettid))}; }

class MendCallTest : public testing::Test {
 protected:
  MendCallTest() {
    shared.slots = slots_.get();
    EXPECT_TRUE(install_handler(SIGURG));
  }
  void SetUp() override {
#ifdef SWIPR_TSAN
    GTEST_SKIP() << "ThreadSanitizer runs handlers later, with a copy of the context";
#endif
  }
  ~MendCallTest() override {
    restore_handler(false);
    forget_after_fork();
  }
  // swipr's signal is pending and arrives as soon as a call takes `before_` as its mask.
  void send_blocked() {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGURG);
    ::pthread_sigmask(SIG_BLOCK, &mask, &before_);
    arm_slot(slots_[0], ++sequence_);
    ASSERT_TRUE(send_signal(self(), self_thread(), {.sequence = sequence_, .slot = 0}));
  }
  // What the handler says about the call.
  MendedCall answer() {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    EXPECT_EQ(slot_status(slots_[0], sequence_), SlotStatus::kDone);
    return slots_[0].call;
  }

  static constexpr timespec kShort{0, 1'000'000};
  std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kSlotCount);
  std::uint64_t sequence_ = 0;
  sigset_t before_;
};

TEST_F(MendCallTest, AWaitLastsUntilItsTimeIsOver) {
  send_blocked();
  timespec time = kShort;
  EXPECT_EQ(::ppoll(nullptr, 0, &time, &before_), 0);
  EXPECT_EQ(answer().outcome, Outcome::kMended);
  EXPECT_EQ(slots_[0].call.number, SYS_ppoll);

  send_blocked();
  EXPECT_EQ(::pselect(0, nullptr, nullptr, nullptr, &kShort, &before_), 0);
  EXPECT_EQ(answer().outcome, Outcome::kMended);

  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  send_blocked();
  EXPECT_EQ(::epoll_pwait(epoll, &event, 1, 1, &before_), 0);
  EXPECT_EQ(answer().outcome, Outcome::kMended);
  ::close(epoll);
}

int foreign_count = 0;
void on_foreign(int) { ++foreign_count; }

class OtherHandler {
 public:
  explicit OtherHandler(int number) : number_(number) {
    struct sigaction action {};
    action.sa_handler = on_foreign;
    action.sa_flags = SA_RESTART;
    ::sigaction(number, &action, &before_);
  }
  ~OtherHandler() { ::sigaction(number_, &before_, nullptr); }
  OtherHandler(const OtherHandler&) = delete;
  OtherHandler& operator=(const OtherHandler&) = delete;

 private:
  int number_;
  struct sigaction before_ {};
};

TEST_F(MendCallTest, TheProgramKeepsItsInterruptions) {
  foreign_count = 0;
  const OtherHandler other(SIGUSR1);
  timespec time = kShort;
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  for (const bool own_too : {false, true}) {
    if (own_too) send_blocked();
    sigset_t unblocked;
    ::pthread_sigmask(SIG_BLOCK, &mask, &unblocked);
    ::raise(SIGUSR1);
    if (own_too) sigdelset(&unblocked, SIGURG);
    EXPECT_EQ(::ppoll(nullptr, 0, &time, &unblocked), -1) << own_too;
    EXPECT_EQ(errno, EINTR);
    ::pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  }
  EXPECT_EQ(foreign_count, 2);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

TEST_F(MendCallTest, NothingIsMendedWhileHandlersOfTheProgramRunUnmarked) {
  const OtherHandler other(SIGUSR1);
  send_blocked();
  timespec time = kShort;
  EXPECT_EQ(::ppoll(nullptr, 0, &time, &before_), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(answer().outcome, Outcome::kInterrupted);
}

TEST_F(MendCallTest, AnIgnoredSignalThatOnlySwiprsHandlerLetsInDoesNotInterrupt) {
  sigset_t mask;
  sigset_t before;
  sigemptyset(&mask);
  sigaddset(&mask, SIGURG);
  ::pthread_sigmask(SIG_BLOCK, &mask, &before);
  ::raise(SIGURG);
  timespec time = kShort;
  EXPECT_EQ(::ppoll(nullptr, 0, &time, &before), 0);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

class TransferTest : public MendCallTest {
 protected:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;

  // Keeps sending swipr's signal to `thread` until `done`.
  void pester(Tid thread, const std::atomic<bool>& done) {
    while (!done) {
      const std::uint64_t sequence = ++sequence_;
      arm_slot(slots_[0], sequence);
      ASSERT_TRUE(send_signal(self(), thread, {.sequence = sequence, .slot = 0}));
      while (!done && slot_status(slots_[0], sequence) != SlotStatus::kDone)
        std::this_thread::yield();
      if (slots_[0].call.outcome == Outcome::kMended) ++mended_;
    }
  }
  // Runs `transfer` in a thread that is interrupted continuously.
  template <typename Transfer>
  void run_pestered(Transfer transfer) {
    std::atomic<std::int32_t> tid{0};
    std::atomic<bool> done{false};
    std::atomic<bool> may_end{false};
    std::thread thread([&] {
      tid = self_thread().value;
      transfer();
      done = true;
      while (!may_end) std::this_thread::yield();  // the last signal needs a thread
    });
    while (tid == 0) std::this_thread::yield();
    pester(Tid{tid}, done);
    may_end = true;
    thread.join();
  }

  int mended_ = 0;
};

std::vector<unsigned char> pattern(std::size_t size) {
  std::vector<unsigned char> data(size);
  for (std::size_t at = 0; at < size; ++at)
    data[at] = static_cast<unsigned char>(at * 7 + at / 251);
  return data;
}

// The data that arrives at `descriptor`, in pieces.
std::vector<unsigned char> read_all(int descriptor, std::size_t size) {
  std::vector<unsigned char> data(size);
  std::size_t used = 0;
  while (used < size) {
    const ssize_t got = ::read(descriptor, &data[used], std::min<std::size_t>(size - used, 10'000));
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  data.resize(used);
  return data;
}

// Each until a signal has interrupted it.
TEST_F(TransferTest, AWriteToAPipeIsWhole) {
  const std::vector<unsigned char> sent = pattern(kBytes);
  while (mended_ == 0) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::vector<unsigned char> received;
    std::thread reader([&] { received = read_all(ends[0], kBytes); });
    ssize_t result = 0;
    int error = 0;
    run_pestered([&] {
      errno = ELOOP;
      result = ::write(ends[1], sent.data(), sent.size());
      error = errno;
    });
    ::close(ends[1]);
    reader.join();
    ::close(ends[0]);
    ASSERT_EQ(result, static_cast<ssize_t>(kBytes));
    ASSERT_EQ(error, ELOOP);  // the handler's own calls fail: a pipe is not a socket
    ASSERT_EQ(received, sent);
  }
}

TEST_F(TransferTest, AReceiveThatWaitsForAllHasAll) {
  const std::vector<unsigned char> sent = pattern(kBytes);
  while (mended_ == 0) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    std::thread sender([&] {
      for (std::size_t at = 0; at < sent.size(); at += 4096)
        if (::send(ends[0], &sent[at], 4096, MSG_NOSIGNAL) != 4096) return;
    });
    std::vector<unsigned char> received(kBytes);
    ssize_t result = 0;
    run_pestered([&] { result = ::recv(ends[1], received.data(), received.size(), MSG_WAITALL); });
    ::close(ends[1]);
    sender.join();
    ::close(ends[0]);
    ASSERT_EQ(result, static_cast<ssize_t>(kBytes));
    ASSERT_EQ(received, sent);
  }
}

TEST_F(TransferTest, AReceiveEndsWithWhatThereIsWhenThePeerCloses) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::vector<unsigned char> buffer(100'000);
  ssize_t result = 0;
  std::thread peer([&] {
    const std::vector<unsigned char> part(50'000, 1);
    EXPECT_EQ(::send(ends[0], part.data(), part.size(), MSG_NOSIGNAL), 50'000);
    ::close(ends[0]);
  });
  run_pestered([&] { result = ::recv(ends[1], buffer.data(), buffer.size(), MSG_WAITALL); });
  peer.join();
  ::close(ends[1]);
  EXPECT_EQ(result, 50'000);
}

TEST_F(TransferTest, ALargeReadOfADeviceIsWhole) {
  const int zero = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(zero, 0);
  std::vector<unsigned char> buffer(std::size_t{64} << 20, 1);
  ssize_t result = 0;
  run_pestered([&] { result = ::read(zero, buffer.data(), buffer.size()); });
  ::close(zero);
  EXPECT_EQ(result, static_cast<ssize_t>(buffer.size()));
  EXPECT_EQ(buffer, std::vector<unsigned char>(buffer.size(), 0));
}

TEST_F(TransferTest, ADescriptorThatDoesNotBlockIsLeftAlone) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  const int room = ::fcntl(ends[1], F_GETPIPE_SZ);  // 16 of the kernel's pages
  const std::vector<unsigned char> data(kBytes);
  ssize_t result = 0;
  run_pestered([&] { result = ::write(ends[1], data.data(), data.size()); });
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(result, room);
}

}  // namespace
}  // namespace swipr::handler
