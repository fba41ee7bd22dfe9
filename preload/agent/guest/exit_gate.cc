#include "preload/agent/guest/exit_gate.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "preload/agent/base/futex.h"
#include "preload/agent/base/raw_syscall_x86_64.h"
#include "preload/agent/threads/own_waiters.h"

namespace swipr::agent::exit_gate {

namespace {

using namespace std::chrono_literals;

constexpr Moment kMaxWait = 200ms;
constexpr Moment kMaxFlushWait = 100ms;
constexpr Moment kMaxPlacesWait = 50ms;  // takes 0.1 ms unless the file system hangs
constexpr Moment kMaxPlacesWaitBeforeExec = 5ms;
constexpr Moment kLookAgain = 50ms;  // where no signal is left to wake with
constexpr Moment kMaxParkWait = 2s;
constexpr Moment kMaxFollowWait = 2s;
constexpr std::size_t kMaxPathBytes = 108;  // sizeof sun_path: longer ones cannot be bound
constexpr int kMaxFiles = 2;

// libc's SIGCANCEL. libc keeps it out of every set that a program can make and sends it to single
// threads only, by pthread_cancel and for their timers: never to this one. So it is never pending
// for anybody else, and a descriptor that waits for it wakes for nobody else.
constexpr int kWakeSignal = 32;
constexpr std::uint64_t kWakeMask = std::uint64_t{1} << (kWakeSignal - 1);

std::atomic<std::uint32_t> exit_asked{0};
std::atomic<std::uint32_t> finished{0};
std::atomic<std::uint32_t> recording_now{0};
enum Flush : std::uint32_t { kNoFlush, kAsked };
std::atomic<std::uint32_t> flush{kNoFlush};
enum Follow : std::uint32_t { kNothing, kTelling, kTold, kFollowing };
std::atomic<std::uint32_t> following{kNothing};
SystemCall followed_call{};
enum Presence : std::uint32_t { kNone, kStarting, kAwake, kDeaf };
std::atomic<std::uint32_t> presence{kNone};
enum Park : std::uint32_t { kNoPark, kParkAsked, kParking, kCalledBack, kGone };
std::atomic<std::uint32_t> park{kNoPark};
enum Places : std::uint32_t { kNoPlaces, kOpening, kOpened, kLeft, kCancelled };
std::atomic<std::uint32_t> places{kNoPlaces};
std::atomic<std::uint32_t> places_wanted{0};
std::atomic<pid_t> owner_pid{0};
std::atomic<pid_t> control_thread{0};
char socket_files[kMaxFiles][kMaxPathBytes];
std::atomic<int> socket_file_count{0};

int signal_fd = -1;  // control thread only

std::atomic<std::uint32_t> wakers{0};

// The signal would end the program if it met another thread that got the number of one that is
// gone: the control thread takes its number away, then waits for those who may have read it.
void wake() noexcept {
  wakers.fetch_add(1);
  const pid_t tid = control_thread.load();
  if (tid != 0) ::syscall(SYS_tgkill, owner_pid.load(), tid, kWakeSignal);
  wakers.fetch_sub(1);
}

bool is_thread(pid_t tid) noexcept { return ::syscall(SYS_tgkill, owner_pid.load(), tid, 0) == 0; }

// False: one of them is not to be found from here. Nobody creates them again.
bool unlink_socket_files() noexcept {
  bool found = true;
  const int count = socket_file_count.load();
  for (int i = 0; i < count; ++i) {
    if (::unlink(socket_files[i]) != 0) found = false;
  }
  return found;
}

bool remove_socket_files() noexcept {
  std::uint32_t expected = kNoPlaces;
  if (places.compare_exchange_strong(expected, kCancelled)) return true;
  wait_for_change(places, kOpening, kMaxPlacesWait);
  return places.load() == kLeft || unlink_socket_files();
}

}  // namespace

void set_owner(pid_t pid) noexcept {
  owner_pid.store(pid);
  presence.store(kStarting);
}

void set_absent() noexcept {
  presence.store(kDeaf);
  futex_wake_all(presence);
}

// By raw calls: libc's wrappers leave this signal out of every set.
void open() noexcept {
  constexpr std::uint64_t kMask = kWakeMask;
  if (::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kMask, nullptr, sizeof kMask) != 0) {
    return set_absent();
  }
  signal_fd =
      static_cast<int>(::syscall(SYS_signalfd4, -1, &kMask, sizeof kMask, O_CLOEXEC | O_NONBLOCK));
  if (signal_fd < 0) return set_absent();
  control_thread.store(::gettid());
  presence.store(kAwake);
  futex_wake_all(presence);
}

bool begin_places() noexcept {
  std::uint32_t expected = kNoPlaces;
  return places.compare_exchange_strong(expected, kOpening);
}

void end_places() noexcept {
  places.store(kOpened);
  futex_wake_all(places);
}

// The exiting thread sets its flag before it looks at this one.
bool begin_places_again() noexcept {
  std::uint32_t expected = kOpened;
  if (!places.compare_exchange_strong(expected, kOpening)) {
    expected = kNoPlaces;
    if (!places.compare_exchange_strong(expected, kOpening)) return false;
  }
  if (exit_asked.load() == 0) {
    socket_file_count.store(0);
    return true;
  }
  end_places();
  return false;
}

void add_socket_file(std::string_view path) noexcept {
  const int index = socket_file_count.load();
  if (index == kMaxFiles || path.empty() || path.size() >= kMaxPathBytes) return;
  std::memcpy(socket_files[index], path.data(), path.size());
  socket_files[index][path.size()] = '\0';
  socket_file_count.store(index + 1);
}

// The two sides look at each other's flag after setting their own (both sequentially consistent):
// either the exit waits for the recording, or the recording is not started.
bool enter_recording() noexcept {
  recording_now.store(1);
  return exit_asked.load() == 0;
}

void update(bool recording) noexcept { recording_now.store(recording ? 1 : 0); }

int poll_fd() noexcept { return signal_fd; }

bool on_readable() noexcept {
  signalfd_siginfo info{};
  ssize_t size = 0;
  while ((size = ::read(signal_fd, &info, sizeof info)) < 0 && errno == EINTR) {
  }
  return size == sizeof info && info.ssi_pid != static_cast<std::uint32_t>(owner_pid.load());
}

bool is_exit_asked() noexcept { return exit_asked.load() != 0; }

bool is_flush_asked() noexcept { return flush.load() == kAsked; }

void report_flushed() noexcept {
  flush.store(kNoFlush);
  futex_wake_all(flush);
}

bool take_wish_for_places() noexcept { return places_wanted.exchange(0) != 0; }

Moment look_again_at(Moment now) noexcept {
  if (recording_now.load() == 0 || signal_fd >= 0) return kNever;
  return now + kLookAgain;
}

void report_finished() noexcept {
  unlink_socket_files();
  finished.store(1);
  futex_wake_all(finished);
}

void pass() noexcept {
  const pid_t pid = ::getpid();
  if (owner_pid.load() != pid) return;
  exit_asked.store(1);
  // After chroot the files are where the control thread still is.
  const bool removed = remove_socket_files();
  if (recording_now.load() == 0 && (removed || control_thread.load() == 0)) return;
  own_waiters::enter(Tid{::gettid()});
  wake();
  wait_for_change(finished, 0, kMaxWait);
}

void ask_for_flush() noexcept {
  const pid_t pid = ::getpid();
  if (owner_pid.load() != pid || recording_now.load() == 0 || is_exit_asked()) return;
  own_waiters::enter(Tid{::gettid()});
  std::uint32_t state = kNoFlush;
  if (flush.compare_exchange_strong(state, kAsked)) wake();
  wait_for_change(flush, kAsked, kMaxFlushWait);
  state = kAsked;
  flush.compare_exchange_strong(state, kNoFlush);  // too late now
  own_waiters::leave(Tid{::gettid()});
}

void leave_places() noexcept {
  if (owner_pid.load() != ::getpid()) return;
  std::uint32_t expected = kNoPlaces;
  if (places.compare_exchange_strong(expected, kLeft)) return;
  wait_for_change(places, kOpening, kMaxPlacesWaitBeforeExec);
  expected = kOpened;
  if (places.compare_exchange_strong(expected, kLeft)) unlink_socket_files();
}

void return_to_places() noexcept {
  if (owner_pid.load() != ::getpid()) return;
  std::uint32_t expected = kLeft;
  if (!places.compare_exchange_strong(expected, kNoPlaces)) return;
  places_wanted.store(1);
  wake();
}

pid_t control_tid() noexcept {
  if (owner_pid.load() != ::getpid()) return 0;
  wait_for_change(presence, kStarting, kMaxParkWait);
  return control_thread.load();
}

bool ask_to_park(WhenLate when_late) noexcept {
  if (is_exit_asked()) return false;
  const pid_t tid = control_tid();
  if (tid == 0) return false;
  std::uint32_t state = kNoPark;
  if (!park.compare_exchange_strong(state, kParkAsked)) return false;
  wake();
  const Moment deadline = monotonic_now() + kMaxParkWait;
  wait_for_change(park, kParkAsked, kMaxParkWait);
  state = kParkAsked;
  if (park.compare_exchange_strong(state, kNoPark)) return false;  // it has no time
  wait_for_change(park, kParking, std::max(deadline - monotonic_now(), Moment::zero()));
  state = kParking;
  if (when_late == WhenLate::kStays && park.compare_exchange_strong(state, kCalledBack)) {
    return false;
  }
  if (park.load() != kGone) return false;
  unlink_socket_files();  // the caller may have rights that the control thread lacked
  // The kernel has to have forgotten it: only then is the caller alone. It takes no more than a
  // CPU.
  const Moment end = monotonic_now() + kMaxParkWait;
  while (is_thread(tid) && monotonic_now() < end) ::sched_yield();
  return true;
}

bool begin_parking() noexcept {
  std::uint32_t state = kParkAsked;
  if (!park.compare_exchange_strong(state, kParking)) return false;
  control_thread.store(0);
  while (wakers.load() != 0) ::sched_yield();
  return true;
}

bool end_parking() noexcept {
  unlink_socket_files();
  std::uint32_t state = kParking;
  if (park.compare_exchange_strong(state, kGone)) {
    futex_wake_all(park);
    return true;
  }
  places.store(kNoPlaces);
  socket_file_count.store(0);
  control_thread.store(::gettid());
  park.store(kNoPark);
  return false;
}

void ask_to_follow(const SystemCall& call) noexcept {
  if (is_exit_asked()) return;  // it listens to nobody any more
  std::uint32_t state = kNothing;
  if (control_tid() == 0 || !following.compare_exchange_strong(state, kTelling)) return;
  followed_call = call;
  own_waiters::enter(Tid{::gettid()});
  following.store(kTold);
  wake();
  wait_for_change(following, kTold, kMaxFollowWait);
  state = kTold;  // what it points to is gone when this returns
  if (!following.compare_exchange_strong(state, kNothing)) {
    wait_for_change(following, kFollowing, kMaxFollowWait);
  }
  own_waiters::leave(Tid{::gettid()});
}

void follow() noexcept {
  std::uint32_t state = kTold;
  if (!following.compare_exchange_strong(state, kFollowing)) return;
  const auto& [a, b, c] = followed_call.arguments;
  // Not by libc: its function is wrapped, and would ask this thread again.
  raw_syscall(followed_call.number, a, b, c);
  following.store(kNothing);
  futex_wake_all(following);
}

void reset_after_fork() noexcept {
  own_waiters::clear();
  following.store(kNothing);
  flush.store(kNoFlush);
  owner_pid.store(0);
  control_thread.store(0);
  exit_asked.store(0);
  finished.store(0);
  recording_now.store(0);
  presence.store(kNone);
  park.store(kNoPark);
  wakers.store(0);
  socket_file_count.store(0);
  places.store(kNoPlaces);
  places_wanted.store(0);
  signal_fd = -1;
}

}  // namespace swipr::agent::exit_gate
