// One thread for each way to block, each in a chain of exactly six functions KIND_1 … KIND_6, of
// which KIND_6 makes the call that blocks. The frames differ in size.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/targets/target.h"

namespace {

std::mutex held_mutex;
pthread_mutex_t condition_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never_signalled = PTHREAD_COND_INITIALIZER;
int silent_pipe[2];
int silent_epoll;
std::atomic<int> arrived{0};

int block_in_poll() {
  pollfd fd{silent_pipe[0], POLLIN, 0};
  int result = 0;
  do {
    result = poll(&fd, 1, -1);
  } while (result < 0 && errno == EINTR);
  return result;
}

int block_in_epoll() {
  epoll_event event{};
  int result = 0;
  do {
    result = epoll_wait(silent_epoll, &event, 1, -1);
  } while (result < 0 && errno == EINTR);
  return result;
}

int block_in_condition() {
  pthread_mutex_lock(&condition_mutex);
  int result = 0;
  while (result == 0) result = pthread_cond_wait(&never_signalled, &condition_mutex);
  return result;
}

int block_in_mutex() {
  held_mutex.lock();
  return 1;
}

int block_in_read() {
  char byte = 0;
  ssize_t result = 0;
  do {
    result = read(silent_pipe[0], &byte, 1);
  } while (result < 0 && errno == EINTR);
  return static_cast<int>(result);
}

int block_in_nanosleep() {
  timespec left{100'000, 0};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  return 0;
}

}  // namespace

// `block` is inlined into KIND_6. The locals, read after the call, keep each frame and forbid a
// tail call.
#define TARGET_LINK(name, callee, bytes) \
  TARGET_FRAME int name(int depth) {     \
    volatile char local[bytes];          \
    local[0] = static_cast<char>(depth); \
    const int result = callee;           \
    return result + local[0];            \
  }
#define TARGET_CHAIN(kind, block)                  \
  TARGET_LINK(kind##_6, (arrived++, block()), 8)   \
  TARGET_LINK(kind##_5, kind##_6(depth + 1), 4000) \
  TARGET_LINK(kind##_4, kind##_5(depth + 1), 200)  \
  TARGET_LINK(kind##_3, kind##_4(depth + 1), 16)   \
  TARGET_LINK(kind##_2, kind##_3(depth + 1), 1)    \
  TARGET_LINK(kind##_1, kind##_2(depth + 1), 64)

TARGET_CHAIN(poll, block_in_poll)
TARGET_CHAIN(epoll, block_in_epoll)
TARGET_CHAIN(condition, block_in_condition)
TARGET_CHAIN(mutex, block_in_mutex)
TARGET_CHAIN(read, block_in_read)
TARGET_CHAIN(nanosleep, block_in_nanosleep)

namespace {

struct Kind {
  const char* name;
  int (*enter)(int);
};
constexpr Kind kKinds[] = {{"poll", poll_1},   {"epoll", epoll_1}, {"condition", condition_1},
                           {"mutex", mutex_1}, {"read", read_1},   {"nanosleep", nanosleep_1}};

bool sleeps(pid_t tid) {
  const std::string path = "/proc/self/task/" + std::to_string(tid) + "/stat";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[256];
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return false;
  text[got] = '\0';
  const char* after_name = std::strrchr(text, ')');
  return after_name != nullptr && after_name[1] == ' ' && after_name[2] == 'S';
}

}  // namespace

int main() {
  if (pipe(silent_pipe) != 0) return 1;
  silent_epoll = epoll_create1(EPOLL_CLOEXEC);
  held_mutex.lock();
  std::vector<std::atomic<pid_t>> tids(std::size(kKinds));
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    std::thread([i, &tids] {
      target::name_thread(kKinds[i].name);
      tids[i] = static_cast<pid_t>(syscall(SYS_gettid));
      kKinds[i].enter(0);
    }).detach();
  }
  while (arrived.load() != static_cast<int>(std::size(kKinds))) sched_yield();
  for (const std::atomic<pid_t>& tid : tids) {
    while (!sleeps(tid)) sched_yield();
  }
  target::say("ready");
  target::wait_for_stdin_end();
  _exit(0);  // the threads never return
}
