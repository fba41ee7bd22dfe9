// Makes short calls that a signal can break, one after the other, in threads that hardly do
// anything else, so that a signal to a running thread meets one of them in the kernel. "ready",
// then until its standard input is closed; then one line for each thread: name, how many calls, how
// many did not end as they should. Threads that hand data to each other rest now and then: on Linux
// 6.18 a session whose threads do nothing else, recorded or not, was seen to keep both CPUs from
// every other session for 40 s (scheduler, autogroups). With "signals" there is also one that waits
// without end, and each of its waits is ended by a signal of the program's own. With "system" the
// program handles SIGINT and a thread calls system(3) again and again, which puts that handler
// back.
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/targets/target.h"

namespace {

std::atomic<bool> ending{false};
constexpr long kMillisecond = 1'000'000;

struct Pipe {
  Pipe() {
    if (::pipe(ends.data()) != 0) std::perror("many_calls: pipe");
  }
  std::array<int, 2> ends{};
};

struct Kind {
  const char* name;
  bool (*call)();  // true: ended as it should
  bool is_transfer = false;
};

void rest() {
  constexpr useconds_t kMicroseconds = 100;
  ::usleep(kMicroseconds);
}

bool wait_in_poll() { return ::poll(nullptr, 0, 1) == 0; }
bool wait_in_ppoll() {
  const timespec time{0, kMillisecond};
  return ::ppoll(nullptr, 0, &time, nullptr) == 0;
}
bool wait_in_select() {
  timeval time{0, 1000};
  return ::select(0, nullptr, nullptr, nullptr, &time) == 0;
}
bool wait_in_epoll() {
  static const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  return ::epoll_wait(epoll, &event, 1, 1) == 0;
}
bool wait_in_nanosleep() {
  const timespec time{0, kMillisecond / 10};
  return ::nanosleep(&time, nullptr) == 0;
}
// A socket whose recv ends after a millisecond, or at once.
int make_receiver(bool is_ready) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  const timeval time{0, 1000};
  ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  if (is_ready && ::send(ends[1], "x", 1, 0) != 1) return -1;
  return ends[0];
}
bool wait_in_recv() {
  static const int receiver = make_receiver(false);
  char byte = 0;
  return ::recv(receiver, &byte, 1, 0) == -1 && errno == EAGAIN;
}
// Another descriptor in each call. If a wait were repeated with that of the call before, it would
// find the byte.
bool wait_in_changing_recv() {
  constexpr std::size_t kPairs = 4;
  static std::array<std::array<int, 2>, kPairs> receivers = [] {
    std::array<std::array<int, 2>, kPairs> made{};
    for (auto& [silent, ready] : made) {
      silent = make_receiver(false);
      ready = make_receiver(true);
    }
    return made;
  }();
  static std::size_t at = 0;
  const auto [silent, ready] = receivers[at++ % kPairs];
  char byte = 0;
  return ::recv(ready, &byte, 1, MSG_PEEK) == 1 && byte == 'x' &&
         ::recv(silent, &byte, 1, 0) == -1 && errno == EAGAIN;
}
bool wait_in_sem_timedwait() {
  static sem_t semaphore;
  timespec deadline{};
  ::clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_nsec += kMillisecond;
  deadline.tv_sec += deadline.tv_nsec / (1000 * kMillisecond);
  deadline.tv_nsec %= 1000 * kMillisecond;
  return ::sem_timedwait(&semaphore, &deadline) == -1 && errno == ETIMEDOUT;
}
bool write_much() {
  static std::vector<char> data(300'000);
  static Pipe* pipe = [] {
    auto* made = new Pipe;
    std::thread([made] {
      std::vector<char> buffer(10'000);
      while (::read(made->ends[0], buffer.data(), buffer.size()) > 0) {
      }
    }).detach();
    return made;
  }();
  return ::write(pipe->ends[1], data.data(), data.size()) == static_cast<ssize_t>(data.size());
}
bool fill_with_random() {
  static std::vector<char> data(1'000'000);
  return ::getrandom(data.data(), data.size(), 0) == static_cast<ssize_t>(data.size());
}
constexpr std::size_t kFileBytes = 16'000'000;
int make_file() {
  const int file = ::memfd_create("many_calls", MFD_CLOEXEC);
  if (::ftruncate(file, kFileBytes) != 0) std::perror("many_calls: ftruncate");
  return file;
}
bool send_file() {
  static const int from = make_file();
  static const int to = make_file();
  off_t place = 0;
  ::lseek(to, 0, SEEK_SET);
  return ::sendfile(to, from, &place, kFileBytes) == kFileBytes && place == kFileBytes;
}
bool copy_file() {
  static const int from = make_file();
  static const int to = make_file();
  loff_t read_place = 0;
  loff_t write_place = 0;
  return ::copy_file_range(from, &read_place, to, &write_place, kFileBytes, 0) == kFileBytes &&
         read_place == kFileBytes && write_place == kFileBytes;
}
bool receive_all() {
  static std::vector<char> buffer(300'000);
  static const int receiver = [] {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    std::thread([sender = ends[1]] {
      const std::vector<char> piece(10'000);
      while (::send(sender, piece.data(), piece.size(), MSG_NOSIGNAL) > 0) {
      }
    }).detach();
    return ends[0];
  }();
  return ::recv(receiver, buffer.data(), buffer.size(), MSG_WAITALL) ==
         static_cast<ssize_t>(buffer.size());
}

constexpr std::array kKinds{
    Kind{"poll", wait_in_poll},
    Kind{"ppoll", wait_in_ppoll},
    Kind{"select", wait_in_select},
    Kind{"epoll", wait_in_epoll},
    Kind{"sleep", wait_in_nanosleep},
    Kind{"recv", wait_in_recv},
    Kind{"changing", wait_in_changing_recv},
    Kind{"semaphore", wait_in_sem_timedwait},
    Kind{"write", write_much, true},
    Kind{"random", fill_with_random, true},
    Kind{"sendfile", send_file, true},
    Kind{"copy", copy_file, true},
    Kind{"waitall", receive_all, true},
};

struct Tally {
  long calls = 0;
  long wrong = 0;
};

void repeat(const Kind& kind, Tally& tally) {
  target::name_thread(kind.name);
  while (!ending) {
    ++tally.calls;
    if (!kind.call()) ++tally.wrong;
    if (kind.is_transfer) rest();
  }
}

// Hands a byte back and forth.
void play(int from, int to, Tally& tally) {
  target::name_thread("pingpong");
  constexpr long kCallsInARow = 20;
  char byte = 0;
  while (!ending) {
    pollfd waiting{from, POLLIN, 0};
    ++tally.calls;
    const bool good = ::poll(&waiting, 1, 10'000) == 1 && ::read(from, &byte, 1) == 1 &&
                      ::write(to, &byte, 1) == 1;
    if (!good) ++tally.wrong;
    if (tally.calls % kCallsInARow == 0) rest();
  }
  if (::write(to, &byte, 1) != 1) ++tally.wrong;
}

std::atomic<long> handled{0};
std::atomic<pid_t> waiter{0};
std::atomic<bool> waiter_done{false};

void wait_for_signals(Tally& tally) {
  target::name_thread("signals");
  waiter = ::gettid();
  while (!ending) {
    const bool ended = ::poll(nullptr, 0, -1) == -1 && errno == EINTR;
    // Two signals for one wait: the first has not ended it.
    if (!ended || handled != ++tally.calls) ++tally.wrong;
  }
  waiter_done = true;
}

// A thread that sleeps is in its poll until that returns.
bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.find(") S ") != std::string::npos;
}

void send_signals() {
  target::name_thread("sender");
  while (waiter == 0) rest();
  while (!waiter_done) {
    rest();
    if (!is_asleep(waiter)) continue;
    const long before = handled;
    ::tgkill(::getpid(), waiter, SIGUSR1);
    while (handled == before) rest();
  }
}

void run_commands() {
  target::name_thread("commands");
  while (!ending) {
    if (std::system("true") != 0) std::perror("many_calls: system");
    rest();
  }
}

// SIGCHLD of a command interrupts calls although it is ignored. The kernel prefers the first
// thread, whose read is restarted, unless a signal is pending for it; then no other thread shall be
// met.
void block_child_signal(bool block) {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, SIGCHLD);
  ::pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &one, nullptr);
}

void count_signals(int number) {
  struct sigaction action {};
  action.sa_handler = [](int) { ++handled; };
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view with = count > 1 ? arguments[1] : "";
  const bool with_signals = with == "signals";
  if (with_signals) count_signals(SIGUSR1);
  if (with == "system") {
    count_signals(SIGINT);
    block_child_signal(true);
  }
  Tally signals;
  std::array<Tally, kKinds.size()> tallies{};
  std::array<Tally, 2> players{};
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < kKinds.size(); ++at) {
    threads.emplace_back([&, at] { repeat(kKinds[at], tallies[at]); });
  }
  Pipe there;
  Pipe back;
  threads.emplace_back([&] { play(there.ends[0], back.ends[1], players[0]); });
  threads.emplace_back([&] { play(back.ends[0], there.ends[1], players[1]); });
  if (::write(there.ends[1], "x", 1) != 1) return 1;
  if (with_signals) {
    threads.emplace_back([&] { wait_for_signals(signals); });
    threads.emplace_back(send_signals);
  }
  if (with == "system") {
    threads.emplace_back(run_commands);
    block_child_signal(false);
  }
  target::say("ready");
  target::wait_for_stdin_end();
  ending = true;
  for (auto& thread : threads) thread.join();
  for (std::size_t at = 0; at < kKinds.size(); ++at) {
    std::printf("%s %ld %ld\n", kKinds[at].name, tallies[at].calls, tallies[at].wrong);
  }
  std::printf("pingpong %ld %ld\n", players[0].calls + players[1].calls,
              players[0].wrong + players[1].wrong);
  if (with_signals) std::printf("signals %ld %ld\n", signals.calls, signals.wrong);
}
