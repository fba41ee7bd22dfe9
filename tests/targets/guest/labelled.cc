// Threads with labels of include/swipr/swipr.h. usage: labelled MODE
//   shares  a thread that spends 70, 20 and 10 % of its CPU time with phase=seventy, twenty, ten,
//           one that sleeps with phase=asleep, one that sleeps and has none
//   chaos   labels change all the time, in signal handlers, too, and threads end with labels. Of
//           each label key and value belong together; "owner" is the thread's own tid
//   values  thousands of values, each for a little CPU time
//   losses  more labels than a thread can have, and values that are too long
//   fork    the parent has who=parent and work=parent, a child who=child and no work
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "include/swipr/swipr.h"
#include "tests/targets/target.h"

namespace {

std::atomic<bool> stop{false};
std::atomic<std::uint64_t> sink{0};

std::string own_tid() { return std::to_string(syscall(SYS_gettid)); }

void burn_for(std::int64_t ns) {
  const std::int64_t end = target::thread_cpu_ns() + ns;
  while (target::thread_cpu_ns() < end) sink += target::churn(1, target::kChunk / 30);
}

void sleep_until_stop() {
  while (!stop.load()) usleep(20'000);
}

// --- shares

// Counted work without system calls, as in shares.cc, in rounds of varying length, 0.6 ms in the
// mean.
void run_shares() {
  std::uint64_t seed = 1;
  const swipr::Label all("work", "shares");
  while (!stop.load(std::memory_order_relaxed)) {
    const std::uint64_t steps = 25'000 + (seed >> 48);
    swipr_set_label("phase", "seventy");
    seed = target::churn(seed, 7 * steps);
    {
      const swipr::Label inner("phase", "twenty");
      seed = target::churn(seed, 2 * steps);
    }
    {
      swipr_set_label("phase", "ten");
      const swipr::Span inner("inner");
      seed = target::churn(seed, steps);
    }
  }
  sink += seed;
}

void shares() {
  std::thread busy(run_shares);
  std::thread asleep([] {
    target::name_thread("asleep");
    swipr_set_label("phase", "asleep");
    sleep_until_stop();
  });
  std::thread plain([] {
    target::name_thread("plain");
    swipr_set_label("phase", "gone");
    swipr_set_label("phase", nullptr);
    sleep_until_stop();
  });
  target::say("ready");
  target::wait_for_stdin_end();
  stop = true;
  busy.join();
  asleep.join();
  plain.join();
}

// --- chaos

// A value that belongs to the key: its last character, and then another one 1 to 99 times.
void set_matching(char letter, std::uint64_t seed) {
  const char key[] = {'k', 'e', 'y', letter, '\0'};
  char value[101] = {};
  value[0] = letter;
  memset(value + 1, static_cast<char>('0' + seed % 10), 1 + (seed / 16) % 99);
  swipr_set_label(key, value);
}

void on_alarm(int) {
  static thread_local std::uint64_t seed = 7;
  seed = seed * 6364136223846793005U + 1;
  set_matching('h', seed >> 33);
  if (seed >> 62 == 0) swipr_set_label("keyh", nullptr);
  swipr_label_scope scope;
  if (swipr_label_begin(&scope, "keya", "a1") == 0) swipr_label_end(&scope);
}

void change_labels(std::uint64_t seed, int rounds) {
  swipr_set_label("owner", own_tid().c_str());
  for (int round = 0; round != rounds && !stop.load(std::memory_order_relaxed); ++round) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    set_matching(static_cast<char>('a' + (seed >> 60) % 4), seed >> 33);
    if ((seed >> 56) % 8 == 0) swipr_set_label("keyb", nullptr);
    if ((seed >> 48) % 64 == 0) usleep(200);
  }
}

void chaos() {
  struct sigaction action {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  std::vector<std::thread> threads;
  for (std::uint64_t number = 1; number <= 2; ++number) {
    threads.emplace_back(change_labels, number, -1);
  }
  const pthread_t interrupted[] = {threads[0].native_handle(), threads[1].native_handle()};
  std::thread alarm([&interrupted] {
    while (!stop.load()) {
      for (const pthread_t thread : interrupted) pthread_kill(thread, SIGALRM);
      usleep(50);
    }
  });
  // The last ones have no labels of their own: memory and tids of others must not give them any.
  std::thread spawner([] {
    for (std::uint64_t number = 0; !stop.load(); ++number) {
      std::thread labelled(change_labels, number, 200);
      std::thread plain([] {
        target::name_thread("plain");
        burn_for(200'000);
        usleep(1000);
      });
      labelled.join();
      plain.join();
    }
  });
  target::say("ready");
  target::wait_for_stdin_end();
  stop = true;
  alarm.join();
  for (std::thread& thread : threads) thread.join();
  spawner.join();
}

// --- the others

void values() {
  std::thread busy([] {
    for (unsigned number = 0; !stop.load(); ++number) {
      swipr_set_label("request", std::to_string(number).c_str());
      burn_for(300'000);
    }
  });
  target::say("ready");
  target::wait_for_stdin_end();
  stop = true;
  busy.join();
}

void losses() {
  target::say("ready");
  std::thread busy([] {
    while (!stop.load()) {
      for (int number = 0; number < 9; ++number) {
        swipr_set_label(std::to_string(number).c_str(), "value");
      }
      swipr_set_label("0", std::string(300, 'x').c_str());
      burn_for(1'000'000);
    }
  });
  target::wait_for_stdin_end();
  stop = true;
  busy.join();
}

void fork_child() {
  swipr_set_label("who", "parent");
  swipr_set_label("work", "parent");
  std::thread other([] {
    swipr_set_label("who", "other");
    sleep_until_stop();
  });
  const pid_t child = fork();
  if (child == 0) {
    swipr_set_label("who", "child");
    swipr_set_label("work", nullptr);
    std::thread after([] {
      target::name_thread("after");
      while (getppid() != 1) burn_for(1'000'000);
    });
    target::say(("child " + std::to_string(getpid())).c_str());
    while (!stop.load()) burn_for(1'000'000);
  }
  target::wait_for_stdin_end();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  stop = true;
  other.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "shares") shares();
  if (mode == "chaos") chaos();
  if (mode == "values") values();
  if (mode == "losses") losses();
  if (mode == "fork") fork_child();
  return 0;
}
