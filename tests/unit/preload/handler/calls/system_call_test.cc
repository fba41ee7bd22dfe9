#include "preload/handler/calls/system_call.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace swipr::handler {
namespace {

Remedy remedy(std::int32_t number, std::int64_t result,
              std::array<std::uint64_t, 6> arguments = {}) {
  return find_remedy({.number = number, .arguments = arguments, .result = result});
}

#if defined(__x86_64__)
// Newer architectures lack these.
TEST(SystemCall, OldWaitsAreRepeated) {
  for (std::int32_t number : {SYS_poll, SYS_select, SYS_epoll_wait, SYS_pause}) {
    EXPECT_EQ(remedy(number, -EINTR), Remedy::kRepeat) << number;
  }
  EXPECT_EQ(remedy(SYS_dup2, -EINTR), Remedy::kNone);
  EXPECT_EQ(remedy(SYS_open, -EINTR), Remedy::kNone);
}
#endif

TEST(SystemCall, InterruptedWaitsAreRepeated) {
  // clang-format off
  constexpr std::int32_t kWaits[] = {
      SYS_ppoll, SYS_pselect6, SYS_epoll_pwait,
      SYS_epoll_pwait2, SYS_nanosleep, SYS_clock_nanosleep, SYS_rt_sigtimedwait,
      SYS_rt_sigsuspend, SYS_semop, SYS_semtimedop, SYS_msgsnd, SYS_msgrcv,
      SYS_mq_timedsend, SYS_mq_timedreceive, SYS_io_getevents, SYS_io_pgetevents, SYS_read,
      SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_write, SYS_writev, SYS_sendto,
      SYS_sendmsg, SYS_accept, SYS_accept4, SYS_connect};
  // clang-format on
  for (std::int32_t number : kWaits) {
    EXPECT_EQ(remedy(number, -EINTR), Remedy::kRepeat) << number;
  }
}

TEST(SystemCall, OnlyFutexOperationsThatWaitAreRepeated) {
  EXPECT_EQ(remedy(SYS_futex, -EINTR, {0, FUTEX_WAIT | FUTEX_PRIVATE_FLAG}), Remedy::kRepeat);
  EXPECT_EQ(remedy(SYS_futex, -EINTR, {0, FUTEX_WAIT_BITSET}), Remedy::kRepeat);
  EXPECT_EQ(remedy(SYS_futex, -EINTR, {0, FUTEX_WAKE}), Remedy::kNone);
}

TEST(SystemCall, CallsThatMayHaveActedAreNotRepeated) {
  for (std::int32_t number : {SYS_close, SYS_dup3, SYS_openat, SYS_kill, -1}) {
    EXPECT_EQ(remedy(number, -EINTR), Remedy::kNone) << number;
  }
}

TEST(SystemCall, OtherErrorsStay) {
  EXPECT_EQ(remedy(SYS_ppoll, 0), Remedy::kNone);
  EXPECT_EQ(remedy(SYS_recvfrom, -EAGAIN), Remedy::kNone);
}

TEST(SystemCall, ShortTransfersAreContinued) {
  EXPECT_EQ(remedy(SYS_write, 10, {1, 0, 100}), Remedy::kContinue);
  EXPECT_EQ(remedy(SYS_sendto, 10, {1, 0, 100, MSG_NOSIGNAL}), Remedy::kContinue);
  EXPECT_EQ(remedy(SYS_recvfrom, 10, {1, 0, 100, MSG_WAITALL}), Remedy::kContinue);
  EXPECT_EQ(remedy(SYS_getrandom, 10, {0, 100, 0}), Remedy::kContinue);
  EXPECT_EQ(remedy(SYS_sendfile, 10, {1, 2, 0, 100}), Remedy::kContinue);
  EXPECT_EQ(remedy(SYS_copy_file_range, 10, {1, 0, 2, 0, 100}), Remedy::kContinue);
}

TEST(SystemCall, WholeTransfersAndThoseThatMayBeShortStay) {
  EXPECT_EQ(remedy(SYS_write, 100, {1, 0, 100}), Remedy::kNone);
  EXPECT_EQ(remedy(SYS_sendto, 10, {1, 0, 100, MSG_DONTWAIT}), Remedy::kNone);
  EXPECT_EQ(remedy(SYS_recvfrom, 10, {1, 0, 100, 0}), Remedy::kNone);
  EXPECT_EQ(remedy(SYS_recvfrom, 10, {1, 0, 100, MSG_WAITALL | MSG_PEEK}), Remedy::kNone);
  EXPECT_EQ(remedy(SYS_getdents64, 10, {1, 0, 100}), Remedy::kNone);
}

bool fills(std::int32_t number, int descriptor, int second = -1) {
  return fills_its_count(
      {.number = number,
       .arguments = {static_cast<std::uint64_t>(descriptor), static_cast<std::uint64_t>(second)}});
}

TEST(SystemCall, FilesAndTerminalsTakeWhatTheyAreGiven) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  const int file = ::memfd_create("file", MFD_CLOEXEC);
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  EXPECT_TRUE(fills(SYS_write, terminal));
  EXPECT_FALSE(fills(SYS_read, terminal));
  EXPECT_TRUE(fills(SYS_sendfile, pipe[1], file));
  EXPECT_FALSE(fills(SYS_sendfile, file, pipe[0]));
  EXPECT_TRUE(fills(SYS_copy_file_range, file));
  EXPECT_TRUE(fills(SYS_getrandom, -1));
  ::fcntl(pipe[1], F_SETFL, O_NONBLOCK);
  EXPECT_FALSE(fills(SYS_sendfile, pipe[1], file));
  for (const int each : {terminal, file, pipe[0], pipe[1]}) ::close(each);
}

}  // namespace
}  // namespace swipr::handler
