#include "tests/unit/preload/trace/checked_work.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>

#include "tests/unit/preload/trace/traced_functions.h"

extern char** environ;

namespace swipr::trace {

std::atomic<long> work_rounds{0};
std::array<std::atomic<long>, kWorkKinds> wrong_results{};

namespace {

std::atomic<bool> stops{false};

void expect_that(bool is_right, std::size_t kind) {
  if (!is_right) ++wrong_results[kind];
}

SWIPR_VECTOR_TARGET void work_with_vectors(double x) {
  const Vector product = multiply(vector_of(x, 3, 2, 1), vector_of(8, 7, 6, 5));
  std::array<double, 4> values;
  store(values.data(), product);
  expect_that(values == std::array<double, 4>{8 * x, 21, 12, 5}, 0);
}

void work_with_arguments(long x) {
  const auto real = static_cast<double>(x);
  expect_that(add_nine(1, 2, 3, 4, 5, 6, 7, 8, x) == 204 + 9 * x, 1);
  expect_that(add_doubles(9, 1., 2., 3., 4., 5., 6., 7., 8., real) == 36. + real, 2);
  expect_that(twice(static_cast<long double>(x)) == 2.0L * static_cast<long double>(x), 3);
  expect_that(make_large(x).values[19] == x + 19, 4);
  expect_that(recurse(x % 50) == x % 50, 5);
  if (has_vectors()) work_with_vectors(real);
}

void work_with_exceptions(long x) {
  bool caught = false;
  try {
    expect_that(rethrow(x) == x + 2, 6);
  } catch (const std::runtime_error&) {
    caught = true;
  }
  expect_that(caught == (x % 3 == 0), 6);
  jmp_buf place;
  if (setjmp(place) == 0) {
    jump_out(place, static_cast<int>(x % 7));
    expect_that(false, 7);
  }
}

}  // namespace

void work_with_libraries(unsigned seed) {
  std::minstd_rand random(seed);
  std::map<std::string, unsigned> map;
  std::vector<unsigned> values;
  for (int index = 0; index < 40; ++index) {
    const auto value = static_cast<unsigned>(random());
    char text[32];
    snprintf(text, sizeof text, "%u", value);
    map[text] = value;
    values.push_back(value);
    expect_that(strtoul(text, nullptr, 10) == value, 8);
  }
  std::ostringstream out;
  for (const auto& [text, value] : map) {
    expect_that(std::to_string(value) == text, 9);
    out << value << ' ';
  }
  std::istringstream in(out.str());
  std::size_t count = 0;
  for (unsigned value = 0; in >> value;) ++count;
  expect_that(count == map.size(), 10);
  qsort(values.data(), values.size(), sizeof values[0], [](const void* a, const void* b) {
    const unsigned left = *static_cast<const unsigned*>(a),
                   right = *static_cast<const unsigned*>(b);
    return left < right ? -1 : left > right ? 1 : 0;
  });
  expect_that(std::ranges::is_sorted(values), 11);
  void* const memory = calloc(1, 1 + random() % 5000);
  expect_that(memory != nullptr && strlen(static_cast<const char*>(memory)) == 0, 12);
  free(memory);
}

namespace {

struct Switched {
  ucontext_t inside, outside;
  std::vector<std::byte> stack = std::vector<std::byte>(256 << 10);
  long sum = 0;
  int yields = 0;
};
void yield_switched(void* state) {
  auto& switched = *static_cast<Switched*>(state);
  ++switched.yields;
  swapcontext(&switched.inside, &switched.outside);
}
thread_local Switched* this_switched;
void switched_main() {
  Switched& switched = *this_switched;
  for (int round = 0; round < 5; ++round) {
    switched.sum += call_inside(round, &yield_switched, &switched);
    try {
      rethrow(3);
    } catch (const std::runtime_error&) {
      switched.sum += 100;
    }
  }
}

void work_with_coroutines() {
  Switched one, other;
  for (Switched* switched : {&one, &other}) {
    getcontext(&switched->inside);
    switched->inside.uc_stack.ss_sp = switched->stack.data();
    switched->inside.uc_stack.ss_size = switched->stack.size();
    switched->inside.uc_link = &switched->outside;
    makecontext(&switched->inside, &switched_main, 0);
  }
  for (int resumed = 0; resumed < 6; ++resumed) {  // five yields, then the end
    for (Switched* switched : {&one, &other}) {
      this_switched = switched;
      swapcontext(&switched->outside, &switched->inside);
    }
  }
  expect_that(one.sum == 515 && other.sum == 515 && one.yields == 5, 13);
}

}  // namespace

void on_alarm(int) {
  const int saved = errno;
  expect_that(triple(7) == 21 && recurse(4) == 4, 14);
  errno = saved;
}

void run_worker(unsigned seed) {
  std::vector<std::byte> alternate(128 << 10);
  const stack_t stack{.ss_sp = alternate.data(), .ss_flags = 0, .ss_size = alternate.size()};
  sigaltstack(&stack, nullptr);
  for (unsigned round = seed; !stops; ++round) {
    for (long x = 0; x < 20; ++x) {
      work_with_arguments(static_cast<long>(round % 1000) + x);
      work_with_exceptions(x);
    }
    work_with_libraries(round + 1);
    work_with_coroutines();
    ++work_rounds;
  }
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
}

namespace {

// Reached in its sleeps only.
void run_without_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (long round = 0; !stops; ++round) {
    for (long x = 0; x < 1000; ++x) expect_that(triple(x) == 3 * x, 15);
    usleep(5000);  // at a gate it would not answer before the deadline
  }
}

void run_children() {
  while (!stops) {
    const pid_t child = fork();
    if (child == 0) _exit(triple(11) == 33 && recurse(50) == 50 ? 0 : 1);
    int status = -1;
    expect_that(waitpid(child, &status, 0) == child && status == 0, 15);
    char name[] = "true";
    char* arguments[] = {name, nullptr};
    pid_t spawned = 0;
    if (posix_spawnp(&spawned, "true", nullptr, nullptr, arguments, environ) == 0) {
      expect_that(waitpid(spawned, &status, 0) == spawned && status == 0, 15);
    }
    usleep(20'000);
  }
}

// Cancelled and ended threads leave the pool.
void* end_somehow(void* argument) {
  const auto number = reinterpret_cast<std::uintptr_t>(argument);
  expect_that(triple(static_cast<long>(number)) == 3 * static_cast<long>(number), 16);
  if (number % 3 == 0) pthread_exit(argument);
  if (number % 3 == 1) pthread_cancel(pthread_self());
  pthread_testcancel();
  return argument;
}

void run_starter() {
  for (std::uintptr_t number = 0; !stops; ++number) {
    pthread_t thread{};
    void* result = nullptr;
    if (pthread_create(&thread, nullptr, &end_somehow, reinterpret_cast<void*>(number)) != 0)
      continue;
    pthread_join(thread, &result);
    const bool is_cancelled = number % 3 == 1;
    expect_that(result == (is_cancelled ? PTHREAD_CANCELED : reinterpret_cast<void*>(number)), 16);
    usleep(1000);
  }
}

}  // namespace

CheckedWork::CheckedWork() {
  struct sigaction action {};
  action.sa_handler = &on_alarm;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaction(SIGALRM, &action, nullptr);
  for (unsigned index = 0; index < 4; ++index) threads_.emplace_back(&run_worker, 7000 * index);
  threads_.emplace_back(&run_without_signals);
  threads_.emplace_back(&run_children);
  threads_.emplace_back(&run_starter);
  const itimerval often{.it_interval = {0, 2000}, .it_value = {0, 2000}};
  setitimer(ITIMER_REAL, &often, nullptr);
}

CheckedWork::~CheckedWork() {
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  stops = true;
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace swipr::trace
