// A program that checks its own results, while a test attaches and detaches its functions. Commands
// on standard input, a line each, and each is answered by one:
//   work           begins to work (checked_work.h) in many threads
//   wrong          "ROUNDS WRONG": what has been done since, and how often a result was wrong
//   hot MS         calls a leaf as often as possible, in another thread; prints how often
//   calls N        N calls of triple(), checked; prints "right" or "wrong"
//   fork           "child PID"; the child answers `calls`, until `end`
//   load PATH, unload, plugin    dlopen, dlclose, and a call of the plugin's function
//   exec           executes the program again
//   confine        a seccomp filter that ends the process if it makes memory executable
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string_view>

#include "tests/targets/target.h"
#include "tests/unit/preload/trace/checked_work.h"
#include "tests/unit/preload/trace/traced_functions.h"

namespace {

using swipr::trace::triple;

void print(const char* format, long long first, long long second = 0) {
  std::printf(format, first, second);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void run_hot(long milliseconds) {
  const std::int64_t end = target::thread_cpu_ns() + milliseconds * 1'000'000;
  long calls = 0;
  for (; target::thread_cpu_ns() < end; calls += 1000) {
    for (long call = 0; call < 1000; ++call) {
      if (triple(call) != 3 * call) ++swipr::trace::wrong_results[0];
    }
  }
  print("%lld", calls);
}

void check_calls(long count) {
  bool is_right = true;
  for (long call = 0; call < count; ++call) is_right = triple(call) == 3 * call && is_right;
  target::say(is_right ? "right" : "wrong");
}

void confine() {
  const sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof filter / sizeof filter[0], const_cast<sock_filter*>(filter)};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  print("%lld", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

class Plugin {
 public:
  bool load(const char* path) {
    library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library_ != nullptr;
  }
  void unload() {
    if (library_ != nullptr) dlclose(library_);
    library_ = nullptr;
  }
  unsigned long long call() {
    using Hot = std::uint64_t (*)(std::uint64_t);
    const auto hot = reinterpret_cast<Hot>(dlsym(library_, "plugin_hot"));
    return hot(1);
  }

 private:
  void* library_ = nullptr;
};

// False: the child has ended.
void fork_child() {
  const pid_t child = fork();
  if (child == 0) return print("child %lld", getpid());
  int status = 0;
  waitpid(child, &status, 0);
  print("ended %lld", status);
}

}  // namespace

int main(int, char** arguments) {
  std::unique_ptr<swipr::trace::CheckedWork> work;
  Plugin plugin;
  target::say("ready");
  char line[4096];
  while (target::read_line(line, sizeof line)) {
    const std::string_view command = line;
    if (command == "work") {
      work = std::make_unique<swipr::trace::CheckedWork>();
      target::say("works");
    } else if (command == "wrong") {
      const auto& wrong = swipr::trace::wrong_results;
      long sum = 0;
      for (const auto& kind : wrong) sum += kind;
      print("%lld %lld", swipr::trace::work_rounds, sum);
    } else if (command.starts_with("hot ")) {
      std::thread(run_hot, std::atol(line + 4)).join();
    } else if (command.starts_with("calls ")) {
      check_calls(std::atol(line + 6));
    } else if (command == "fork") {
      fork_child();
    } else if (command == "end") {
      _exit(0);
    } else if (command.starts_with("load ")) {
      target::say(plugin.load(line + 5) ? "loaded" : dlerror());
    } else if (command == "unload") {
      plugin.unload();
      target::say("unloaded");
    } else if (command == "plugin") {
      print("%lld", static_cast<long long>(plugin.call()));
    } else if (command == "exec") {
      execv("/proc/self/exe", arguments);
    } else if (command == "confine") {
      confine();
    }
  }
}
