#include "preload/handler/calls/system_call.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "preload/machine/older_calls.h"

namespace swipr::handler {

namespace {

bool is_repeatable(const SystemCall& call) noexcept {
  switch (call.number) {
    case machine::kPoll:
    case SYS_ppoll:
    case machine::kSelect:
    case SYS_pselect6:
    case machine::kEpollWait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend:
    case machine::kPause:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgsnd:
    case SYS_msgrcv:
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
    case SYS_io_getevents:
    case SYS_io_pgetevents:
    // Sockets with SO_RCVTIMEO or SO_SNDTIMEO; without these options the kernel restarts the calls
    // itself.
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
      return true;
    case SYS_futex: {
      const std::uint64_t operation = call.arguments[1] & static_cast<unsigned>(FUTEX_CMD_MASK);
      return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
    }
    default:
      return false;
  }
}

bool is_transfer(const SystemCall& call) noexcept {
  constexpr std::uint64_t kHarmlessFlags = MSG_NOSIGNAL | MSG_MORE;
  switch (call.number) {
    case SYS_read:
    case SYS_write:
      return true;
    case SYS_sendto:
      return (call.arguments[3] & ~kHarmlessFlags) == 0;
    case SYS_recvfrom:
      return call.arguments[3] == MSG_WAITALL;
    case SYS_getrandom:
      return (call.arguments[2] & GRND_RANDOM) == 0;
    case SYS_sendfile:
    case SYS_copy_file_range:
      return true;
    default:
      return false;
  }
}

bool is_pipe(std::uint64_t descriptor) noexcept {
  return ::syscall(SYS_fcntl, descriptor, F_GETPIPE_SZ) > 0;
}

bool is_terminal(std::uint64_t descriptor) noexcept {
  int discipline = 0;
  return ::syscall(SYS_ioctl, descriptor, TIOCGETD, &discipline) == 0;
}

bool is_stream(std::uint64_t descriptor) noexcept {
  int type = 0;
  socklen_t size = sizeof(type);
  return ::syscall(SYS_getsockopt, descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
         type == SOCK_STREAM;
}

// /dev/zero, /dev/urandom: large reads end at a signal. Not inlined: small alternate stacks.
[[gnu::noinline]] bool is_memory_device(std::uint64_t descriptor) noexcept {
  constexpr unsigned kMajor = 1;  // Documentation/admin-guide/devices.txt
  struct stat status;
  return ::syscall(SYS_fstat, descriptor, &status) == 0 && S_ISCHR(status.st_mode) &&
         major(status.st_rdev) == kMajor;
}

// The content of a file is available: a transfer from it is short only at its end.
[[gnu::noinline]] bool is_file(std::uint64_t descriptor) noexcept {
  struct stat status;
  return ::syscall(SYS_fstat, descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Rest rest_of(const SystemCall& call) noexcept {
  switch (call.number) {
    case SYS_getrandom:
      return {0, 1};
    case SYS_sendfile:
      return {-1, 3};
    case SYS_copy_file_range:
      return {-1, 4};
    default:
      return {1, 2};
  }
}

Remedy find_remedy(const SystemCall& call) noexcept {
  if (call.result == -EINTR) return is_repeatable(call) ? Remedy::kRepeat : Remedy::kNone;
  constexpr std::uint64_t kMost = 0x7ffff000;  // in one call: include/linux/fs.h, MAX_RW_COUNT
  const std::uint64_t count = call.arguments[static_cast<std::size_t>(rest_of(call).count)];
  const bool is_short =
      call.result > 0 && count <= kMost && static_cast<std::uint64_t>(call.result) < count;
  return is_short && is_transfer(call) ? Remedy::kContinue : Remedy::kNone;
}

bool fills_its_count(const SystemCall& call) noexcept {
  if (call.number == SYS_getrandom) return true;
  const std::uint64_t descriptor = call.arguments[0];
  const long flags = ::syscall(SYS_fcntl, descriptor, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) != 0) return false;
  if (call.number == SYS_copy_file_range) return true;
  if (call.number == SYS_sendfile) return is_file(call.arguments[1]);
  if (call.number == SYS_read) return is_memory_device(descriptor);
  if (is_stream(descriptor)) return true;
  return call.number == SYS_write && (is_pipe(descriptor) || is_terminal(descriptor));
}

}  // namespace swipr::handler
