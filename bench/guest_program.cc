// Measures the cost of recording from inside a program. One busy thread counts units of work; any
// number of blocked threads wait and count errors (EINTR, early returns).
//
// usage: bench_guest_program [BLOCKED_THREADS [WAKES_PER_SECOND]]
//   WAKES_PER_SECOND 0: the blocked threads wait in poll until the end; otherwise each wakes as
//   often.
// Commands on standard input, one answer line each:
//   mark       "<units> <CPU ns of the busy thread> <wall ns> <interrupted waits> <voluntary
//   switches of the
//              blocked threads>"
//   gperftools HZ FILE  starts gperftools' profiler (CPUPROFILE_FREQUENCY sets the rate); 0 stops
//              it. Answers "ok", or "missing".
//   signal HZ  starts sending the busy thread signals with an empty handler; 0 stops. Answers
//              "ok <sent> <intervals missed, because the machine was late>" of the time before.
//              The floor: the cost of any profiler that signals running threads.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<std::uint64_t> units{0};
std::atomic<std::uint64_t> busy_cpu_ns{0};
std::atomic<std::uint64_t> interrupted{0};
std::atomic<std::uint64_t> signal_hertz{0};
std::atomic<std::uint64_t> signals_sent{0};
std::atomic<std::uint64_t> signals_missed{0};
std::atomic<pid_t> busy_tid{0};
std::atomic<bool> stopping{false};
std::vector<std::atomic<pid_t>>* blocked_tids = nullptr;

std::uint64_t read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// A chain of distinct functions, so that a stack has some depth: 30 frames.
template <int kDepth>
[[gnu::noinline]] std::uint64_t chain(std::uint64_t seed) {
  if constexpr (kDepth == 0) {
    std::uint64_t value = seed;
    for (int step = 0; step < 20'000; ++step)
      value = value * 6364136223846793005u + 1442695040888963407u;
    return value;
  } else {
    const std::uint64_t inner = chain<kDepth - 1>(seed + kDepth);
    asm volatile("" ::: "memory");  // no tail call
    return inner ^ kDepth;
  }
}

void work() {
  busy_tid = static_cast<pid_t>(::syscall(SYS_gettid));
  std::uint64_t value = 1;
  while (!stopping.load(std::memory_order_relaxed)) {
    value = chain<28>(value);
    units.fetch_add(1, std::memory_order_relaxed);
    busy_cpu_ns.store(read_clock(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
  }
  units.fetch_add(value & 0);  // the result is used
}

void wait_in_poll(std::size_t index, int descriptor, std::uint64_t wakes_per_second) {
  (*blocked_tids)[index] = static_cast<pid_t>(::syscall(SYS_gettid));
  const int timeout_ms = wakes_per_second == 0 ? -1 : static_cast<int>(1000 / wakes_per_second);
  while (true) {
    pollfd waiting{descriptor, POLLIN, 0};
    const int result = ::poll(&waiting, 1, timeout_ms);
    if (result < 0 && errno == EINTR) ++interrupted;
    if (result > 0) return;
  }
}

void send_signals() {
  ::prctl(PR_SET_TIMERSLACK, 1);
  std::uint64_t deadline = read_clock(CLOCK_MONOTONIC);
  while (!stopping) {
    const std::uint64_t hertz = signal_hertz.load();
    const std::uint64_t interval = hertz == 0 ? 20'000'000 : 1'000'000'000 / hertz;
    const std::uint64_t late = read_clock(CLOCK_MONOTONIC) - deadline;
    const std::uint64_t skipped = hertz == 0 ? 0 : late / interval;
    signals_missed += skipped;
    deadline += interval * (skipped + 1);
    const timespec until{static_cast<time_t>(deadline / 1'000'000'000),
                         static_cast<long>(deadline % 1'000'000'000)};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    if (hertz == 0) continue;
    ::syscall(SYS_tgkill, ::getpid(), busy_tid.load(), SIGUSR1);
    ++signals_sent;
  }
}

std::uint64_t voluntary_switches() {
  std::uint64_t sum = 0;
  for (const auto& tid : *blocked_tids) {
    std::ifstream status("/proc/self/task/" + std::to_string(tid.load()) + "/status");
    for (std::string word; status >> word;) {
      std::uint64_t value = 0;
      if (word == "voluntary_ctxt_switches:" && status >> value) sum += value;
    }
  }
  return sum;
}

// Loaded on request: otherwise its constructor would be part of every other measurement.
bool profile_with_gperftools(bool on, const std::string& path) {
  static void* const library = ::dlopen("libprofiler.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  if (on) {
    auto* const start = reinterpret_cast<int (*)(const char*)>(::dlsym(library, "ProfilerStart"));
    return start != nullptr && start(path.c_str()) != 0;
  }
  auto* const stop = reinterpret_cast<void (*)()>(::dlsym(library, "ProfilerStop"));
  if (stop != nullptr) stop();
  return stop != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t blocked = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const std::uint64_t wakes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);
  std::vector<std::atomic<pid_t>> tids(blocked);
  blocked_tids = &tids;
  int ends[2];
  if (::pipe(ends) != 0) return 1;

  std::vector<pthread_t> threads(blocked);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, 65536);
  struct Start {
    std::size_t index;
    int descriptor;
    std::uint64_t wakes;
  };
  std::vector<Start> starts(blocked);
  for (std::size_t index = 0; index < blocked; ++index) {
    starts[index] = {index, ends[0], wakes};
    const int error = ::pthread_create(
        &threads[index], &attributes,
        [](void* start) -> void* {
          const auto* parameters = static_cast<Start*>(start);
          wait_in_poll(parameters->index, parameters->descriptor, parameters->wakes);
          return nullptr;
        },
        &starts[index]);
    if (error != 0) {
      std::cerr << "bench_guest_program: only " << index << " threads can be started\n";
      return 1;
    }
  }
  std::thread busy(work);
  std::thread signaller(send_signals);
  std::cout << "ready " << ::getpid() << std::endl;

  for (std::string command; std::cin >> command;) {
    if (command == "mark") {
      const std::uint64_t switches = voluntary_switches();
      std::cout << units << ' ' << busy_cpu_ns << ' ' << read_clock(CLOCK_MONOTONIC) << ' '
                << interrupted << ' ' << switches << std::endl;
    } else if (std::string path; command == "gperftools") {
      std::uint64_t rate = 0;
      std::cin >> rate >> path;
      std::cout << (profile_with_gperftools(rate != 0, path) ? "ok" : "missing") << std::endl;
    } else if (std::uint64_t hertz = 0; command == "signal" && std::cin >> hertz) {
      signal_hertz = hertz;
      std::cout << "ok " << signals_sent.exchange(0) << ' ' << signals_missed.exchange(0)
                << std::endl;
    }
  }
  stopping = true;
  if (::write(ends[1], "x", 1) != 1) return 1;
  for (pthread_t thread : threads) ::pthread_join(thread, nullptr);
  busy.join();
  signaller.join();
}
