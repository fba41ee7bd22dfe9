// Gives up its privileges and then waits in the main thread and in another one. Commands, a line
// each:
//   drop   setuid to nobody, or without the right to do so PR_SET_DUMPABLE 0. Answers "dropped".
//   number setuid to nobody by the raw system call, which changes one thread only. Answers
//          "dropped".
//   capset give up all capabilities, and nothing else. Answers "dropped".
//   wait   both threads wait 300 ms in poll. Answers one line per thread: "poll RESULT early|full
//          time", then "done".
//   sleep  four threads work for 60 ms and then wait for 600 ms in poll, nanosleep, a pipe and a
//          condition variable. Answers one line each: NAME early|full time, SWITCHES, then "done".
//   workers forks 40 processes on one CPU that call setuid to nobody at once and then wait. Answers
//          a line with each one's number, then "done". They wait until they are killed.
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "tests/targets/target.h"

namespace {

constexpr std::chrono::milliseconds kWait{300};

std::string wait_in_poll() {
  const auto begin = std::chrono::steady_clock::now();
  const int result = poll(nullptr, 0, static_cast<int>(kWait.count()));
  const bool early = std::chrono::steady_clock::now() - begin < kWait;
  return "poll " + std::to_string(result) + (early ? " early" : " full time");
}

bool give_up_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

constexpr std::chrono::milliseconds kWork{60};
constexpr std::chrono::milliseconds kSleep{600};
std::array<int, 2> pipe_ends{};
std::mutex mutex;
std::condition_variable condition;
bool is_over = false;

}  // namespace

TARGET_FRAME int hidden_poll() { return poll(nullptr, 0, static_cast<int>(kSleep.count())); }
TARGET_FRAME int hidden_nanosleep() {
  const timespec time{0, std::chrono::nanoseconds(kSleep).count()};
  return nanosleep(&time, nullptr);
}
TARGET_FRAME int hidden_pipe() {
  char byte = 0;
  return static_cast<int>(read(pipe_ends[0], &byte, 1));
}
TARGET_FRAME int hidden_condition() {
  std::unique_lock lock(mutex);
  condition.wait(lock, [] { return is_over; });
  return 0;
}

namespace {

struct Sleeper {
  const char* name;
  int (*wait)();
  std::string result{};
  std::thread thread{};
};

void work_and_wait(Sleeper& sleeper) {
  pthread_setname_np(pthread_self(), sleeper.name);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t seed = 1;
  while (std::chrono::steady_clock::now() - start < kWork) seed = target::churn(seed, 1000);
  const long before = target::sleeps();
  const auto begin = std::chrono::steady_clock::now();
  const bool failed = sleeper.wait() < 0 || seed == 0;
  const bool early = failed || std::chrono::steady_clock::now() - begin < kSleep;
  const long after = target::sleeps();
  sleeper.result = std::string(sleeper.name) + (early ? " early, " : " full time, ") +
                   std::to_string(after - before);
}

void sleep_in_all_ways() {
  std::array<Sleeper, 4> sleepers{{{"poll", hidden_poll},
                                   {"nanosleep", hidden_nanosleep},
                                   {"pipe", hidden_pipe},
                                   {"condition", hidden_condition}}};
  if (pipe(pipe_ends.data()) != 0) return;
  is_over = false;
  for (Sleeper& sleeper : sleepers) sleeper.thread = std::thread(work_and_wait, std::ref(sleeper));
  sleepers[0].thread.join();
  sleepers[1].thread.join();
  std::this_thread::sleep_for(kSleep);  // whenever the other two began
  if (write(pipe_ends[1], "", 1) != 1) return;
  {
    const std::lock_guard lock(mutex);
    is_over = true;
  }
  condition.notify_all();
  sleepers[2].thread.join();
  sleepers[3].thread.join();
  for (const Sleeper& sleeper : sleepers) target::say(sleeper.result.c_str());
  for (const int end : pipe_ends) close(end);
  target::say("done");
}

[[noreturn]] void run_worker() {
  if (setuid(65534) != 0) _exit(1);
  for (;;) pause();
}

void start_workers() {
  constexpr int kWorkers = 40;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  for (int worker = 0; worker < kWorkers; ++worker) {
    const pid_t pid = fork();
    if (pid == 0) run_worker();
    target::say(std::to_string(pid).c_str());
  }
  target::say("done");
}

}  // namespace

int main() {
  target::say("ready");
  for (char line[64]; target::read_line(line, sizeof line);) {
    if (std::strcmp(line, "drop") == 0) {
      if (setuid(65534) != 0) prctl(PR_SET_DUMPABLE, 0);
      target::say("dropped");
      continue;
    }
    if (std::strcmp(line, "number") == 0) {
      target::say(syscall(SYS_setresuid, 65534, 65534, 65534) == 0 ? "dropped" : "refused");
      continue;
    }
    if (std::strcmp(line, "capset") == 0) {
      target::say(give_up_capabilities() ? "dropped" : "refused");
      continue;
    }
    if (std::strcmp(line, "workers") == 0) {
      start_workers();
      continue;
    }
    if (std::strcmp(line, "sleep") == 0) {
      sleep_in_all_ways();
      continue;
    }
    std::string other;
    std::thread thread([&other] { other = wait_in_poll(); });
    target::say(wait_in_poll().c_str());
    thread.join();
    target::say(other.c_str());
    target::say("done");
  }
}
