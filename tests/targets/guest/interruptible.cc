// Makes every call that a signal handler, even one with SA_RESTART, is known to break (signal(7),
// "Interruption of system calls"), each in a thread of its own, and prints one line for each: name,
// what it returned, errno, and whether it lasted as long as it should: less than half as long
// again, its waiting for a CPU left out, if it slept more than once. "ready", then for each line on
// standard input one round of all calls, then "done".
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/targets/target.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kWait{400};
constexpr std::size_t kLarge = std::size_t{1} << 20;

timespec wait_time() { return {0, kWait.count() * 1'000'000}; }

timespec realtime_deadline() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  now.tv_nsec += kWait.count() * 1'000'000;
  now.tv_sec += now.tv_nsec / 1'000'000'000;
  now.tv_nsec %= 1'000'000'000;
  return now;
}

// Both ends of a socket pair; the far end is fed or drained by the main thread after kWait.
struct Pair {
  std::array<int, 2> ends{};
  explicit Pair(bool pipe = false) {
    const int failed =
        pipe ? ::pipe(ends.data()) : ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data());
    if (failed != 0) std::perror("interruptible: socketpair");
  }
  ~Pair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
};

long call_poll() {
  Pair pair;
  pollfd waiting{pair.ends[0], POLLIN, 0};
  return ::poll(&waiting, 1, static_cast<int>(kWait.count()));
}
long call_ppoll() {
  Pair pair;
  pollfd waiting{pair.ends[0], POLLIN, 0};
  const timespec time = wait_time();
  return ::ppoll(&waiting, 1, &time, nullptr);
}
long call_select() {
  Pair pair;
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pair.ends[0], &set);
  timeval time{0, kWait.count() * 1000};
  return ::select(pair.ends[0] + 1, &set, nullptr, nullptr, &time);
}
long call_epoll_wait() {
  const int epoll = ::epoll_create1(0);
  epoll_event event{};
  const long result = ::epoll_wait(epoll, &event, 1, static_cast<int>(kWait.count()));
  const int kept = errno;
  ::close(epoll);
  errno = kept;
  return result;
}
long call_nanosleep() {
  const timespec time = wait_time();
  return ::nanosleep(&time, nullptr);
}
long call_usleep() { return ::usleep(static_cast<useconds_t>(kWait.count() * 1000)); }
long call_sleep() { return static_cast<long>(::sleep(1)); }
long call_clock_nanosleep() {
  const timespec time = wait_time();
  return ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}
long call_sem_timedwait() {
  sem_t semaphore;
  ::sem_init(&semaphore, 0, 0);
  const timespec deadline = realtime_deadline();
  return ::sem_timedwait(&semaphore, &deadline);
}
long call_recv_timeout() {
  Pair pair;
  const timeval time{0, kWait.count() * 1000};
  ::setsockopt(pair.ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  char byte = 0;
  return ::recv(pair.ends[0], &byte, 1, 0);
}
// The peer sends one half at once and the other after kWait.
long call_recv_waitall() {
  Pair pair;
  std::thread peer([&] {
    const std::string half(1000, 'x');
    if (::send(pair.ends[1], half.data(), half.size(), 0) < 0) return;
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable never;
    never.wait_until(lock, Clock::now() + kWait, [] { return false; });
    if (::send(pair.ends[1], half.data(), half.size(), 0) < 0) return;
  });
  std::array<char, 2000> buffer{};
  const long result = ::recv(pair.ends[0], buffer.data(), buffer.size(), MSG_WAITALL);
  const int kept = errno;
  peer.join();
  errno = kept;
  return result;
}
// The peer drains slowly, so that the writer blocks over and over in one call.
long call_large_write() {
  Pair pair(true);
  std::thread peer([&] {
    std::vector<char> buffer(16384);
    const auto end = Clock::now() + kWait;
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable never;
    never.wait_until(lock, end, [] { return false; });
    for (std::size_t left = kLarge; left > 0;) {
      const ssize_t got = ::read(pair.ends[0], buffer.data(), buffer.size());
      if (got <= 0) return;
      left -= static_cast<std::size_t>(got);
      if (left > kLarge) return;
    }
  });
  const std::vector<char> data(kLarge);
  const long result = ::write(pair.ends[1], data.data(), data.size());
  const int kept = errno;
  if (result < static_cast<long>(kLarge)) ::close(std::exchange(pair.ends[1], -1));
  peer.join();
  errno = kept;
  return result;
}
long call_semtimedop() {
  const int set = ::semget(IPC_PRIVATE, 1, 0600);
  sembuf take{0, -1, 0};
  const timespec time = wait_time();
  const long result = ::semtimedop(set, &take, 1, &time);
  const int kept = errno;
  ::semctl(set, 0, IPC_RMID);
  errno = kept;
  return result;
}
long call_msgrcv() {
  struct {
    long type;
    char text[8];
  } message{1, {}};
  const int queue = ::msgget(IPC_PRIVATE, 0600);
  std::thread peer([&] {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable never;
    never.wait_until(lock, Clock::now() + kWait, [] { return false; });
    auto sent = message;
    ::msgsnd(queue, &sent, sizeof sent.text, 0);
  });
  auto received = message;
  const long result = ::msgrcv(queue, &received, sizeof received.text, 0, 0);
  const int kept = errno;
  peer.join();
  ::msgctl(queue, IPC_RMID, nullptr);
  errno = kept;
  return result;
}
long call_sigtimedwait() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR2);
  const timespec time = wait_time();
  return ::sigtimedwait(&set, nullptr, &time);
}

struct Row {
  const char* name;
  long (*call)();
  std::chrono::milliseconds lasts = kWait;
  bool ends_by_itself = true;  // else another thread ends it, some time after that
};
constexpr std::array kRows{
    Row{"poll", call_poll},
    Row{"ppoll", call_ppoll},
    Row{"select", call_select},
    Row{"epoll_wait", call_epoll_wait},
    Row{"nanosleep", call_nanosleep},
    Row{"usleep", call_usleep},
    Row{"sleep", call_sleep, std::chrono::milliseconds(1000)},
    Row{"clock_nanosleep", call_clock_nanosleep},
    Row{"sem_timedwait", call_sem_timedwait},
    Row{"recv SO_RCVTIMEO", call_recv_timeout},
    Row{"recv MSG_WAITALL", call_recv_waitall, kWait, false},
    Row{"large pipe write", call_large_write, kWait, false},
    Row{"semtimedop", call_semtimedop},
    Row{"msgrcv", call_msgrcv, kWait, false},
    Row{"sigtimedwait", call_sigtimedwait},
};

std::string judge(const Row& row, std::chrono::nanoseconds lasted, long sleeps) {
  if (lasted < row.lasts - std::chrono::milliseconds(5)) return "early";
  const auto awake = lasted - std::chrono::nanoseconds(target::queued_ns());
  if (!row.ends_by_itself || sleeps < 2 || awake <= row.lasts * 3 / 2) return "full time";
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(awake).count();
  return "late: " + std::to_string(ms) + " ms, slept " + std::to_string(sleeps) + " times";
}

std::string run(const Row& row) {
  errno = 0;
  const auto begin = Clock::now();
  const long sleeps = target::sleeps();
  const long result = row.call();
  const int error = result < 0 ? errno : 0;
  const auto lasted = Clock::now() - begin;
  return std::string(row.name) + ": " + std::to_string(result) + " errno " + std::to_string(error) +
         " " + judge(row, lasted, target::sleeps() - sleeps) + "\n";
}

}  // namespace

int main() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::array<std::string, kRows.size()> results;
    std::vector<std::thread> threads;
    for (std::size_t index = 0; index < kRows.size(); ++index) {
      threads.emplace_back([&, index] { results[index] = run(kRows[index]); });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& result : results) std::cout << result;
    std::cout << "done" << std::endl;
  }
}
