// A program with known behaviour to record: one thread spends 70 % of its CPU time in
// `hash_blocks`, 20 % in `sort_numbers` and 10 % in `format_text`; another waits in `wait_for_work`
// for a condition variable, a third in `poll_socket` for input that never comes. Each line on
// standard input is answered with "<units of work> <CPU nanoseconds>" of the busy thread, so that a
// script can see what recording costs it. Ends when standard input does.
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace {

using Nanoseconds = std::uint64_t;

std::atomic<std::uint64_t> units_done{0};
std::atomic<Nanoseconds> cpu_used{0};
std::atomic<bool> stopping{false};
std::atomic<std::uint64_t> sink{0};

Nanoseconds thread_cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<Nanoseconds>(now.tv_sec) * 1'000'000'000 +
         static_cast<Nanoseconds>(now.tv_nsec);
}

[[gnu::noinline]] void hash_blocks() {
  std::uint64_t hash = 14695981039346656037u;
  for (std::uint64_t index = 0; index < 20'000; ++index) hash = (hash ^ index) * 1099511628211u;
  sink += hash;
}

[[gnu::noinline]] void sort_numbers() {
  std::array<std::uint32_t, 128> numbers;
  std::uint32_t value = 1;
  for (auto& number : numbers) number = value = value * 1664525u + 1013904223u;
  for (std::size_t sorted = 1; sorted < numbers.size(); ++sorted) {
    for (std::size_t place = sorted; place > 0 && numbers[place] < numbers[place - 1]; --place) {
      std::swap(numbers[place], numbers[place - 1]);
    }
  }
  sink += numbers[0];
}

[[gnu::noinline]] void format_text() {
  std::array<char, 24> text;
  for (std::uint64_t index = 0; index < 500; ++index) {
    std::size_t length = 0;
    for (std::uint64_t rest = index * 2654435761u; rest != 0; rest /= 10) {
      text[length++] = static_cast<char>('0' + rest % 10);
    }
    sink += length;
  }
}

// Runs the one of the three that is furthest behind its share.
void busy_loop() {
  struct Part {
    void (*run)();
    double share;
    Nanoseconds used;
  };
  std::array<Part, 3> parts{{{hash_blocks, 0.7, 0}, {sort_numbers, 0.2, 0}, {format_text, 0.1, 0}}};
  Nanoseconds before = thread_cpu();
  while (!stopping.load(std::memory_order_relaxed)) {
    auto next = std::min_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return static_cast<double>(a.used) / a.share < static_cast<double>(b.used) / b.share;
    });
    for (int repeat = 0; repeat < 20; ++repeat) next->run();
    const Nanoseconds now = thread_cpu();
    next->used += now - before;
    before = now;
    units_done.fetch_add(1, std::memory_order_relaxed);
    cpu_used.store(now, std::memory_order_relaxed);
  }
}

std::mutex work_mutex;
std::condition_variable work_arrived;

[[gnu::noinline]] void wait_for_work() {
  std::unique_lock lock(work_mutex);
  work_arrived.wait(lock, [] { return stopping.load(); });
}

[[gnu::noinline]] void poll_socket(int descriptor) {
  pollfd waiting{descriptor, POLLIN, 0};
  while (::poll(&waiting, 1, -1) < 0) {
  }
}

void name_thread(std::thread& thread, const char* name) {
  ::pthread_setname_np(thread.native_handle(), name);
}

}  // namespace

int main() {
  std::array<int, 2> pipe_ends{};
  if (::pipe(pipe_ends.data()) != 0) return 1;
  std::thread busy(busy_loop);
  std::thread waiting(wait_for_work);
  std::thread polling(poll_socket, pipe_ends[0]);
  name_thread(busy, "busy worker");
  name_thread(waiting, "waiting");
  name_thread(polling, "polling");
  std::cout << "ready " << ::getpid() << std::endl;

  for (std::string line; std::getline(std::cin, line);) {
    std::cout << units_done.load() << ' ' << cpu_used.load() << std::endl;
  }
  {
    const std::lock_guard lock(work_mutex);
    stopping = true;
  }
  work_arrived.notify_all();
  ::close(pipe_ends[1]);
  busy.join();
  waiting.join();
  polling.join();
}
