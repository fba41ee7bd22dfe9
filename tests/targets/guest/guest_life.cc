// guest_life WAY: prints descriptors, children, memory and ends of a program as it sees them.
// Output
// and exit status are the same with and without swipr.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/targets/older_libc.h"
#include "tests/targets/target.h"

extern char** environ;

namespace {

constexpr std::int64_t kWorkNs = 30'000'000;

void work(std::int64_t ns = kWorkNs) {
  const std::int64_t until = target::thread_cpu_ns() + ns;
  std::uint64_t seed = 1;
  while (target::thread_cpu_ns() < until) seed = target::churn(seed, target::kChunk);
}

void tell(const std::string& what, long value) {
  std::printf("%s: %ld\n", what.c_str(), value);
  std::fflush(stdout);
}

void tell_descriptors(const char* when) {
  std::vector<int> open;
  for (int fd = 0; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) open.push_back(fd);
  }
  std::printf("%s:", when);
  for (int fd : open) std::printf(" %d", fd);
  std::printf("\n");
  std::fflush(stdout);
}

void descriptors() {
  tell_descriptors("first");
  work();
  for (int i = 0; i < 5; ++i) tell("lowest", open("/dev/null", O_RDONLY));
  closefrom(3);
  work();
  tell_descriptors("closefrom");
  for (int fd = 3; fd < 200; ++fd) {
    if (dup2(STDIN_FILENO, fd) != fd) tell("dup2", fd);
    work(300'000);
  }
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  tell_descriptors("closed");
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 16;
  setrlimit(RLIMIT_NOFILE, &limit);
  int count = 0;
  while (open("/dev/null", O_RDONLY) >= 0) ++count;
  tell("until the limit", count);
  tell("EMFILE", errno == EMFILE);
  work();
  tell_descriptors("full");
}

void opening_threads() {
  std::atomic<bool> end{false};
  std::thread busy([&] {
    while (!end.load()) work(1'000'000);
  });
  int wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    const int fd = open("/dev/null", O_RDONLY);
    if (fd != 3) ++wrong;
    close(fd);
  }
  tell("not the lowest", wrong);
  end = true;
  busy.join();
}

volatile sig_atomic_t child_signals = 0;
void on_child(int) { child_signals = child_signals + 1; }

void children() {
  signal(SIGCHLD, on_child);
  tell("none", waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD);
  work();
  tell("none, of any kind", waitpid(-1, nullptr, WNOHANG | __WALL) == -1 && errno == ECHILD);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      work(5'000'000);
      _exit(i);
    }
    int status = 0;
    pid_t got = 0;
    while ((got = wait(&status)) < 0 && errno == EINTR) {
    }
    tell("mine", got == child && WIFEXITED(status) && WEXITSTATUS(status) == i);
  }
  tell("SIGCHLD", child_signals);
  tell("none", waitpid(-1, nullptr, WNOHANG | __WALL) == -1 && errno == ECHILD);
}

void ways_to_run() {
  char name[] = "sh";
  char option[] = "-c";
  char script[] = "exit 5";
  char* const arguments[] = {name, option, script, nullptr};
  for (int i = 0; i < 5; ++i) {
    work(2'000'000);
    pid_t child = 0;
    int status = 0;
    tell("posix_spawn", posix_spawn(&child, "/bin/sh", nullptr, nullptr, arguments, environ));
    waitpid(child, &status, 0);
    tell("status", WEXITSTATUS(status));
    tell("posix_spawnp", posix_spawnp(&child, "sh", nullptr, nullptr, arguments, environ));
    waitpid(child, &status, 0);
    tell("status", WEXITSTATUS(status));
    tell("system", WEXITSTATUS(std::system("exit 6")));
    FILE* pipe = popen("echo hello", "r");
    char line[16] = {};
    tell("popen",
         std::fgets(line, sizeof line, pipe) != nullptr && std::strcmp(line, "hello\n") == 0);
    tell("pclose", pclose(pipe));
    const pid_t forked = vfork();
    if (forked == 0) {
      execv("/bin/sh", arguments);
      _exit(127);
    }
    waitpid(forked, &status, 0);
    tell("vfork", WEXITSTATUS(status));
  }
}

void exec_storm() {
  int failed = 0;
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      // Signalled all the time, blocked or not, while it becomes another program.
      sigset_t all;
      sigfillset(&all);
      if (i % 2 == 0) pthread_sigmask(SIG_BLOCK, &all, nullptr);
      work(12'000'000 + i * 10'000);
      execl("/bin/true", "true", nullptr);
      _exit(127);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) ++failed;
  }
  tell("failed", failed);
}

void double_fork() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  if (pipe(ends) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    if (fork() == 0) {
      work(15'000'000);
      _exit(write(ends[1], "x", 1) == 1 ? 9 : 1);
    }
    _exit(0);
  }
  char byte = 0;
  close(ends[1]);
  tell("read", read(ends[0], &byte, 1));
  int adopted = 0;
  int status = 0;
  for (pid_t got = 0; (got = wait(&status)) > 0;) {
    if (got != child) adopted = WEXITSTATUS(status);
  }
  tell("adopted", adopted);
}

int on_shared_stack(void* argument) {
  work();
  *static_cast<int*>(argument) = 1;
  return 4;
}

void bare_clones() {
  static char stack[65536];
  int done = 0;
  const pid_t child = clone(on_shared_stack, stack + sizeof stack, CLONE_VM | SIGCHLD, &done);
  int status = 0;
  waitpid(child, &status, 0);
  tell("status", WEXITSTATUS(status));
  tell("done", done);
}

void names() {
  prctl(PR_SET_NAME, "renamed");
  work();
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  target::say(name);
}

void limits() {
  struct rlimit limit {};
  limit.rlim_cur = limit.rlim_max = 512u << 20;
  tell("RLIMIT_AS", setrlimit(RLIMIT_AS, &limit));
  work();
  tell("malloc", std::malloc(1u << 30) == nullptr);
  tell("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
  std::vector<pthread_t> threads;
  for (int i = 0; i < 20; ++i) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_t thread;
    const int error = pthread_create(
        &thread, &attributes,
        [](void*) -> void* {
          work(5'000'000);
          return nullptr;
        },
        nullptr);
    if (error == 0) threads.push_back(thread);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  tell("threads", static_cast<long>(threads.size()));
}

void finish_in_other_thread(bool quick) {
  std::thread other([=] {
    work();
    std::printf("ends\n");
    std::fflush(stdout);
    if (quick) std::quick_exit(11);
    std::exit(12);
  });
  other.detach();
  for (;;) work();
}

void leave_main() {
  std::thread([] {
    work();
    target::say("last");
    std::exit(13);
  }).detach();
  work();
  pthread_exit(nullptr);
}

// The last thread to return ends the process as exit(0) does: what is buffered is written, and what
// was registered runs.
void leave_to_last_thread() {
  std::atexit([] { std::printf("at exit\n"); });
  std::thread([] {
    work();
    std::printf("last");
  }).detach();
  pthread_exit(nullptr);
}

void fork_in_a_thread() {
  std::thread([] {
    const pid_t child = fork();
    work();
    if (child == 0) return;  // its only thread ends
    int status = -1;
    waitpid(child, &status, 0);
    tell("child", status);
  }).join();
}

void fault() {
  work();
  *static_cast<volatile int*>(nullptr) = 1;
}

// Without its folder and its streams.
void leave_everything() {
  const int said = dup(STDOUT_FILENO);
  dprintf(said, "daemon: %d\n", daemon(0, 0));
  work();
  for (const char* link : {"cwd", "fd/0", "fd/1", "fd/2"}) {
    char path[64] = {};
    const std::string name = std::string("/proc/self/") + link;
    if (readlink(name.c_str(), path, sizeof path - 1) < 0) path[0] = '\0';
    dprintf(said, "%s: %s\n", link, path);
  }
}

struct Way {
  std::string_view name;
  void (*run)();
};
constexpr Way kWays[] = {
    {"descriptors", descriptors},
    {"opening_threads", opening_threads},
    {"children", children},
    {"ways_to_run", ways_to_run},
    {"exec_storm", exec_storm},
    {"double_fork", double_fork},
    {"bare_clones", bare_clones},
    {"names", names},
    {"limits", limits},
    {"exit_in_a_thread", [] { finish_in_other_thread(false); }},
    {"quick_exit", [] { finish_in_other_thread(true); }},
    {"pthread_exit", leave_main},
    {"last_thread", leave_to_last_thread},
    {"fork_in_a_thread", fork_in_a_thread},
    {"abort",
     [] {
       work();
       std::abort();
     }},
    {"fault", fault},
    {"killed",
     [] {
       work();
       kill(getpid(), SIGKILL);
     }},
    {"terminated",
     [] {
       work();
       kill(getpid(), SIGTERM);
     }},
    {"underscore_exit",
     [] {
       work();
       _exit(14);
     }},
    {"daemon_without_streams", leave_everything},
    {"daemon",
     [] {
       tell("daemon", daemon(1, 1));
       work();
       tell("session", getsid(0) == getpid() ? 0 : 1);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const Way& way : kWays) {
    if (way.name == argv[1]) {
      way.run();
      return 0;
    }
  }
  return 2;
}
