// Measures the system calls of a tick on this machine, in a program with many blocked threads.
// Prints a line "<name> <ns, median>" for each. usage: bench_kernel_costs [THREADS]
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

std::atomic<pid_t> last_tid{0};

void* block(void*) {
  last_tid = static_cast<pid_t>(::syscall(SYS_gettid));
  ::poll(nullptr, 0, -1);
  return nullptr;
}

bool start(std::size_t count) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, 65536);
  for (std::size_t index = 0; index < count; ++index) {
    pthread_t thread;
    last_tid = 0;
    if (::pthread_create(&thread, &attributes, block, nullptr) != 0) return false;
    while (last_tid == 0) ::sched_yield();
  }
  return true;
}

double now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

template <typename Call>
void measure(const char* name, int repeats, const Call& call) {
  std::vector<double> times;
  for (int round = 0; round < 50; ++round) {
    const double begin = now_ns();
    for (int repeat = 0; repeat < repeats; ++repeat) call();
    times.push_back((now_ns() - begin) / repeats);
  }
  std::sort(times.begin(), times.end());
  std::printf("%s %.0f\n", name, times[times.size() / 2]);
}

void read_file(const std::string& path) {
  char text[512];
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || ::read(file, text, sizeof text) < 0) std::abort();
  ::close(file);
}

void list(int directory) {
  alignas(dirent64) char buffer[16384];
  ::lseek(directory, 0, SEEK_SET);
  while (::syscall(SYS_getdents64, directory, buffer, sizeof buffer) > 0) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (!start(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1)) return 1;
  const std::string task = "/proc/self/task/" + std::to_string(last_tid.load()) + "/";
  const int directory = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY);
  const int memory = ::open("/proc/self/mem", O_RDONLY);
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(last_tid.load()) << 3 | 6u);
  static char stack[65536];
  char copy[8192];
  const auto place = reinterpret_cast<off_t>(&stack[4096]);
  std::fill(std::begin(stack), std::end(stack), '\1');
  measure("clock_of_a_thread", 1000, [clock] {
    timespec time{};
    ::clock_gettime(clock, &time);
  });
  measure("file_syscall", 100, [&] { read_file(task + "syscall"); });
  measure("file_schedstat", 100, [&] { read_file(task + "schedstat"); });
  measure("file_stat", 100, [&] { read_file(task + "stat"); });
  measure("file_comm", 100, [&] { read_file(task + "comm"); });
  measure("memory_8_bytes", 1000, [&] {
    if (::pread(memory, copy, 8, place) != 8) std::abort();
  });
  measure("memory_8_kib", 1000, [&] {
    if (::pread(memory, copy, sizeof copy, place) != sizeof copy) std::abort();
  });
  measure("disposition", 1000, [] {
    struct sigaction action {};
    ::sigaction(SIGURG, nullptr, &action);
  });
  measure("number_of_threads", 1000, [directory] {
    struct stat status {};
    ::fstat(directory, &status);
  });
  measure("list_of_threads", 1, [directory] { list(directory); });
  ::_exit(std::fflush(stdout) == 0 ? 0 : 1);
}
