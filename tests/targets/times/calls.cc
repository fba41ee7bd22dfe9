// Functions whose calls take a known time. Commands on standard input, one line each:
//   spin COUNT FAST SLOW EVERY   COUNT calls of timed_call(ns): FAST, each EVERYth SLOW; prints the
//                                durations that the program measured around them, sorted, in a line
//   throw COUNT                  calls of throwing_call(), of which each second one throws
//   serve COUNT                  two threads make so many calls of handle_request() each: 1 ms in
//                                look_up(), in every 20th rehash() for 8 ms, in every 25th
//                                load_page(), which sleeps for 8 ms; prints how many of all three
//   hot MILLISECONDS             hot_call() as often as possible; prints how often
//   many COUNT FAST SLOW EVERY   four threads call labelled_call(id, ns) as often, through
//   from_left()
//                                and from_right() in turns; prints id:tid:duration of each, in a
//                                line
// Each answer is one line; the program ends with its standard input.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/targets/target.h"

// TARGET_FRAME for functions of C++.
#ifdef __clang__
#define CALLS_FRAME __attribute__((noinline, used))
#else
#define CALLS_FRAME __attribute__((noipa, used))
#endif

namespace {

volatile int sink = 0;

TARGET_INLINE int always_inlined(int value) {
  sink = value;
  return value + 1;
}

}  // namespace

TARGET_FRAME void timed_call(std::int64_t duration_ns) {
  const std::int64_t end = target::now_ns() + duration_ns;
  while (target::now_ns() < end) sink = sink + 1;
}

TARGET_FRAME int hot_call(int value) {
  sink = always_inlined(value) + sink;
  return sink + value * 3;
}

TARGET_FRAME std::int64_t labelled_call(std::int64_t id, std::int64_t duration_ns) {
  const std::int64_t end = target::now_ns() + duration_ns;
  while (target::now_ns() < end) sink = sink + 1;
  return 3 * id;
}

CALLS_FRAME std::int64_t from_left(std::int64_t id, std::int64_t duration_ns) {
  return labelled_call(id, duration_ns) + sink;  // of from_left
}

CALLS_FRAME std::int64_t from_right(std::int64_t id, std::int64_t duration_ns) {
  return labelled_call(id, duration_ns) - sink;  // of from_right
}

CALLS_FRAME int look_up(int value) {
  const std::int64_t end = target::now_ns() + 1'000'000;
  while (target::now_ns() < end) sink = value;
  return sink + value;
}

CALLS_FRAME int rehash(int value) {
  const std::int64_t end = target::now_ns() + 8'000'000;
  while (target::now_ns() < end) sink = value;
  return sink - value;
}

CALLS_FRAME int load_page(int value) {
  usleep(8'000);
  return sink * value;
}

// It calls itself: once of its own, with nothing to do.
CALLS_FRAME int handle_request(int number) {
  if (number < 0) return sink;
  int result = look_up(number) + handle_request(-1);
  if (number % 20 == 3) result += rehash(number);
  if (number % 25 == 7) result += load_page(number);
  return result;
}

namespace twins {

CALLS_FRAME int twin(int value) {
  sink = value;
  return value * sink + 1;
}

CALLS_FRAME int twin(char value) {
  sink = static_cast<unsigned char>(value);
  return sink * sink + 2;
}

}  // namespace twins

CALLS_FRAME int throwing_call(int value) {
  sink = value;
  if (value % 2 != 0) throw value;  // of throwing_call
  return sink;
}

namespace {

void spin(std::int64_t count, std::int64_t fast, std::int64_t slow, std::int64_t every) {
  std::vector<std::int64_t> durations;
  for (std::int64_t call = 1; call <= count; ++call) {
    const std::int64_t begin = target::now_ns();
    timed_call(call % every == 0 ? slow : fast);
    durations.push_back(target::now_ns() - begin);
  }
  std::sort(durations.begin(), durations.end());
  for (const std::int64_t duration : durations)
    std::printf("%lld ", static_cast<long long>(duration));
  target::say("");
}

struct Labelled {
  std::int64_t id = 0, ns = 0;
  int tid = 0;
};

// Its threads stay, as they are asked for their names.
void call_from_threads(std::int64_t count, std::int64_t fast, std::int64_t slow,
                       std::int64_t every) {
  constexpr int kThreads = 4;
  static std::vector<Labelled> made[kThreads];
  static std::atomic<int> done{0};
  done = 0;
  for (int thread = 0; thread < kThreads; ++thread) {
    std::thread([=] {
      pthread_setname_np(pthread_self(), ("caller-" + std::to_string(thread)).c_str());
      made[thread].clear();
      for (std::int64_t call = 0; call < count; ++call) {
        const std::int64_t id = 1000 * (thread + 1) + call;
        const std::int64_t ns = call % every == every - 1 ? slow : fast;
        const std::int64_t begin = target::now_ns();
        const std::int64_t result = id % 2 == 0 ? from_left(id, ns) : from_right(id, ns);
        sink = static_cast<int>(result);
        made[thread].push_back({id, target::now_ns() - begin, static_cast<int>(gettid())});
      }
      ++done;
      for (;;) pause();
    }).detach();
  }
  while (done != kThreads) usleep(1000);
  for (const auto& calls : made) {
    for (const Labelled& call : calls) {
      std::printf("%lld:%d:%lld ", static_cast<long long>(call.id), call.tid,
                  static_cast<long long>(call.ns));
    }
  }
  target::say("");
}

void serve(int count) {
  constexpr int kThreads = 2;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([count] {
      for (int number = 0; number < count; ++number) sink = handle_request(number);
    });
  }
  for (std::thread& thread : threads) thread.join();
  int rehashed = 0, loaded = 0, slow = 0;
  for (int number = 0; number < count; ++number) {
    if (number % 20 == 3) ++rehashed;
    if (number % 25 == 7) ++loaded;
    if (number % 20 == 3 || number % 25 == 7) ++slow;
  }
  std::printf("%d %d %d %d\n", kThreads * count, kThreads * slow, kThreads * rehashed,
              kThreads * loaded);
  std::fflush(stdout);
}

void throw_often(std::int64_t count) {
  int caught = 0;
  for (std::int64_t call = 0; call < count; ++call) {
    try {
      sink = throwing_call(static_cast<int>(call));
    } catch (int) {
      ++caught;
    }
  }
  std::printf("%d\n", caught);
  std::fflush(stdout);
}

void run_hot(std::int64_t milliseconds) {
  const std::int64_t end = target::now_ns() + milliseconds * 1'000'000;
  long long calls = 0;
  for (; target::now_ns() < end; calls += 1000) {
    for (int call = 0; call < 1000; ++call) sink = hot_call(call);
  }
  std::printf("%lld\n", calls);
  std::fflush(stdout);
}

}  // namespace

int main() {
  sink = twins::twin(1) + twins::twin('a');
  target::say("ready");
  char line[256];
  while (target::read_line(line, sizeof line)) {
    long long count = 0, fast = 0, slow = 0, every = 1;
    if (std::sscanf(line, "spin %lld %lld %lld %lld", &count, &fast, &slow, &every) == 4) {
      spin(count, fast, slow, every);
    } else if (std::sscanf(line, "many %lld %lld %lld %lld", &count, &fast, &slow, &every) == 4) {
      call_from_threads(count, fast, slow, every);
    } else if (std::sscanf(line, "serve %lld", &count) == 1) {
      serve(static_cast<int>(count));
    } else if (std::sscanf(line, "throw %lld", &count) == 1) {
      throw_often(count);
    } else if (std::sscanf(line, "hot %lld", &count) == 1) {
      run_hot(count);
    }
  }
}
