#include "preload/agent/exit_gate.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "preload/agent/futex.h"

namespace swipr::agent::exit_gate {

namespace {

using namespace std::chrono_literals;

constexpr Moment kMaxWait = 200ms;
constexpr Moment kMaxFlushWait = 100ms;
constexpr Moment kMaxPlacesWait = 50ms;     // takes 0.1 ms unless the file system hangs
constexpr Moment kLookAgain = 50ms;         // where no signal is left to wake with
constexpr std::size_t kMaxPathBytes = 108;  // sizeof sun_path: longer ones cannot be bound
constexpr int kMaxFiles = 2;

// Ignored by default, so that even a misdirected one harms nobody; the real-time ones are for
// programs that have these pending.
constexpr int kWakeSignals[] = {SIGURG, SIGWINCH, 64, 63, 62};

std::atomic<std::uint32_t> exit_asked{0};
std::atomic<std::uint32_t> finished{0};
std::atomic<std::uint32_t> recording_now{0};
enum Flush : std::uint32_t { kNoFlush, kAsking, kAsked };
std::atomic<std::uint32_t> flush{kNoFlush};
std::atomic<int> wake_signal{0};
enum Places : std::uint32_t { kNoPlaces, kOpening, kOpened, kCancelled };
std::atomic<std::uint32_t> places{kNoPlaces};
std::atomic<pid_t> owner_pid{0};
std::atomic<pid_t> control_thread{0};
char socket_files[kMaxFiles][kMaxPathBytes];
std::atomic<int> socket_file_count{0};

// Control thread only.
int signal_fd = -1;
std::size_t candidate = 0;

// Points the signalfd at the present candidate.
void arm() noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, kWakeSignals[candidate]);
  signal_fd = ::signalfd(signal_fd, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  wake_signal.store(signal_fd >= 0 ? kWakeSignals[candidate] : 0);
}

void disarm() noexcept {
  wake_signal.store(0);
  if (signal_fd >= 0) ::close(signal_fd);
  signal_fd = -1;
}

void remove_socket_files() noexcept {
  std::uint32_t expected = kNoPlaces;
  if (places.compare_exchange_strong(expected, kCancelled)) return;
  wait_for_change(places, kOpening, kMaxPlacesWait);
  const int count = socket_file_count.exchange(0);
  for (int i = 0; i < count; ++i) ::unlink(socket_files[i]);
}

}  // namespace

void set_owner(pid_t pid) noexcept { owner_pid.store(pid); }

void set_control_thread(pid_t tid) noexcept { control_thread.store(tid); }

bool begin_places() noexcept {
  std::uint32_t expected = kNoPlaces;
  return places.compare_exchange_strong(expected, kOpening);
}

void end_places() noexcept {
  places.store(kOpened);
  futex_wake_all(places);
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

void update(bool recording) noexcept {
  recording_now.store(recording ? 1 : 0);
  if (!recording) return disarm();
  if (signal_fd < 0 && candidate < std::size(kWakeSignals)) arm();
}

int poll_fd() noexcept { return signal_fd; }

void on_readable() noexcept {
  if (is_exit_asked() || flush.load() != kNoFlush) return;
  // Pending for the whole program, which blocks it everywhere: not ours.
  if (++candidate < std::size(kWakeSignals)) return arm();
  disarm();
}

bool is_exit_asked() noexcept { return exit_asked.load() != 0; }

bool is_flush_asked() noexcept { return flush.load() == kAsked; }

void report_flushed() noexcept {
  signalfd_siginfo ours;
  while (signal_fd >= 0 && ::read(signal_fd, &ours, sizeof ours) < 0 && errno == EINTR) {
  }
  flush.store(kNoFlush);
  futex_wake_all(flush);
}

Moment look_again_at(Moment now) noexcept {
  if (recording_now.load() == 0 || signal_fd >= 0) return kNever;
  return now + kLookAgain;
}

void report_finished() noexcept {
  finished.store(1);
  futex_wake_all(finished);
}

void pass() noexcept {
  const pid_t pid = ::getpid();
  if (owner_pid.load() != pid) return;
  exit_asked.store(1);
  remove_socket_files();
  if (recording_now.load() == 0) return;
  waiting_tid.store(::gettid());
  const int signal = wake_signal.load();
  if (signal != 0) ::syscall(SYS_tgkill, pid, control_thread.load(), signal);
  wait_for_change(finished, 0, kMaxWait);
}

void ask_for_flush() noexcept {
  const pid_t pid = ::getpid();
  if (owner_pid.load() != pid || recording_now.load() == 0 || is_exit_asked()) return;
  waiting_tid.store(::gettid());
  std::uint32_t state = kNoFlush;
  if (flush.compare_exchange_strong(state, kAsking)) {
    const int signal = wake_signal.load();
    if (signal != 0) ::syscall(SYS_tgkill, pid, control_thread.load(), signal);
    flush.store(kAsked);
  }
  wait_for_change(flush, kAsked, kMaxFlushWait);
  state = kAsked;
  flush.compare_exchange_strong(state, kNoFlush);  // too late now
  waiting_tid.store(0);
}

void reset_after_fork() noexcept {
  waiting_tid.store(0);
  flush.store(kNoFlush);
  owner_pid.store(0);
  control_thread.store(0);
  exit_asked.store(0);
  finished.store(0);
  recording_now.store(0);
  wake_signal.store(0);
  socket_file_count.store(0);
  places.store(kNoPlaces);
  signal_fd = -1;
  candidate = 0;
}

}  // namespace swipr::agent::exit_gate
