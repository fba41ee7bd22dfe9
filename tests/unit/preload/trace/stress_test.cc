// Functions of this program, of libc and of libstdc++ are attached and detached in random order
// while threads check their own results. SWIPR_TRACE_SECONDS: how long (5).
#include <gtest/gtest.h>
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
#include <array>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "preload/trace/calls/pool.h"
#include "preload/trace/traced_function.h"
#include "tests/unit/preload/trace/loaded_functions.h"
#include "tests/unit/preload/trace/traced_functions.h"

extern char** environ;

namespace swipr::trace {
namespace {

std::atomic<bool> stops{false};
std::atomic<long> rounds{0};
std::array<std::atomic<long>, 16> wrong{};  // of each kind of work

void expect_that(bool is_right, std::size_t kind) {
  if (!is_right) ++wrong[kind];
}

[[gnu::target("avx")]] void work_with_vectors(double x) {
  const __m256d product = multiply(_mm256_set_pd(1, 2, 3, x), _mm256_set_pd(5, 6, 7, 8));
  std::array<double, 4> values;
  _mm256_storeu_pd(values.data(), product);
  expect_that(values == std::array<double, 4>{8 * x, 21, 12, 5}, 0);
}

void work_with_arguments(long x) {
  const auto real = static_cast<double>(x);
  expect_that(add_nine(1, 2, 3, 4, 5, 6, 7, 8, x) == 204 + 9 * x, 1);
  expect_that(add_doubles(9, 1., 2., 3., 4., 5., 6., 7., 8., real) == 36. + real, 2);
  expect_that(twice(static_cast<long double>(x)) == 2.0L * static_cast<long double>(x), 3);
  expect_that(make_large(x).values[19] == x + 19, 4);
  expect_that(recurse(x % 50) == x % 50, 5);
  if (__builtin_cpu_supports("avx")) work_with_vectors(real);
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
    ++rounds;
  }
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
}

// Reached in its sleeps only.
void run_without_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (long round = 0; !stops; ++round) {
    for (long x = 0; x < 1000; ++x) expect_that(triple(x) == 3 * x, 15);
    usleep(200);
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

class Program {
 public:
  Program() {
    struct sigaction action {};
    action.sa_handler = &on_alarm;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(SIGALRM, &action, nullptr);
    for (unsigned index = 0; index < 4; ++index) threads_.emplace_back(&run_worker, 7000 * index);
    threads_.emplace_back(&run_without_signals);
    threads_.emplace_back(&run_children);
    const itimerval often{.it_interval = {0, 2000}, .it_value = {0, 2000}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Program() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    stops = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

 private:
  std::vector<std::thread> threads_;
};

// Some that the program is known to call, others drawn.
class Candidates {
 public:
  explicit Candidates(unsigned seed) : random_(seed) {
    for (const char* name : {"", "libc.so", "libstdc++.so"}) files_.emplace_back(name);
    add_called();
    while (functions_.size() < 220) {
      LoadedFile& file = files_[1 + random_() % 2];  // this program contains what traces
      add(file, random_() % file.size());
    }
  }
  TracedFunction& any() { return *functions_[random_() % functions_.size()]; }
  auto& all() { return functions_; }
  std::size_t changed_bytes() const {
    std::size_t changed = 0;
    for (const LoadedFile& file : files_) changed += file.changed_bytes();
    return changed;
  }

 private:
  void add(LoadedFile& file, std::size_t index) {
    Function function;
    Plan plan;
    if (index >= file.size() || !file.plan(index, function, plan)) return;
    for (const auto& known : functions_) {
      if (known->function() == function.address) return;
    }
    auto traced = std::make_unique<TracedFunction>();
    const auto probe = static_cast<std::uint32_t>(functions_.size());
    ASSERT_EQ(traced->set_up(function, plan, probe), Refusal::kNone);
    functions_.push_back(std::move(traced));
  }
  void add_called() {
    const auto at = [](auto* function) { return reinterpret_cast<std::uint64_t>(function); };
    for (const std::uint64_t address :
         {at(&add_nine), at(&add_doubles), at(&twice), at(&multiply), at(&make_large), at(&recurse),
          at(&throw_sometimes), at(&call_throwing), at(&rethrow), at(&jump_out), at(&triple),
          at(&call_inside), at(&run_worker), at(&work_with_libraries), at(&on_alarm)}) {
      add(files_[0], files_[0].find(address));
    }
    for (const std::uint64_t address :
         {at(&malloc), at(&free), at(&calloc), at(&snprintf), at(&strtoul), at(&qsort), at(&usleep),
          at(&waitpid), at(&fork), at(&sigaltstack), at(&read), at(&write), at(&siglongjmp)}) {
      add(files_[1], files_[1].find(address));
    }
  }

  std::minstd_rand random_;
  std::vector<LoadedFile> files_;
  std::vector<std::unique_ptr<TracedFunction>> functions_;
};

unsigned number_of(const char* name, unsigned usual) {
  const char* const text = getenv(name);
  return text == nullptr ? usual : static_cast<unsigned>(strtoul(text, nullptr, 10));
}

TEST(TraceStress, NoResultChangesAndNoByteStays) {
  install_gate_handler();
  exclude_this_thread();
  Candidates candidates(number_of("SWIPR_SAMPLE_SEED", 1));
  ASSERT_EQ(candidates.changed_bytes(), 0u);
  std::map<GateStatus, int> results;
  std::uint64_t longest_ns = 0, moved = 0, signalled = 0;
  {
    const Program program;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // a handler may be traced, too
    TracedFunction& called = *candidates.all().front();
    for (int round = 0; round < 20 && !called.is_attached(); ++round) called.attach();
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::seconds(number_of("SWIPR_TRACE_SECONDS", 5));
    for (int round = 0; std::chrono::steady_clock::now() < end; ++round) {
      TracedFunction& traced = candidates.any();
      const GateReport report = traced.is_attached() ? traced.detach() : traced.attach();
      ++results[report.status];
      longest_ns = std::max(longest_ns, report.duration_ns);
      moved += report.moved;
      signalled += report.signalled;
      if (round % 16 == 0) reclaim_ended();
    }
    for (const auto& traced : candidates.all())
      EXPECT_EQ(traced->detach().status, GateStatus::kDone);
    EXPECT_EQ(candidates.changed_bytes(), 0u);
  }
  for (std::size_t kind = 0; kind < wrong.size(); ++kind) EXPECT_EQ(wrong[kind], 0) << kind;
  EXPECT_GT(rounds, 0);
  EXPECT_GT(results[GateStatus::kDone], 0);
  std::uint64_t calls = 0, called = 0;
  for (std::uint32_t probe = 0; probe < candidates.all().size(); ++probe) {
    Histogram sum;
    add_up(probe, sum);
    std::uint64_t own = 0;
    for (const std::uint64_t bucket : sum.buckets) own += bucket;
    calls += own;
    called += own != 0;
  }
  EXPECT_GT(calls, 0u);
  printf(
      "%ld rounds, %llu calls of %llu functions; attached or detached %d, not reached %d, forking "
      "%d, "
      "%llu pcs moved, %llu signals, longest %.1f ms, open %u\n",
      rounds.load(), static_cast<unsigned long long>(calls),
      static_cast<unsigned long long>(called), results[GateStatus::kDone],
      results[GateStatus::kNotReached], results[GateStatus::kForking],
      static_cast<unsigned long long>(moved), static_cast<unsigned long long>(signalled),
      static_cast<double>(longest_ns) / 1e6, open_calls());
}

}  // namespace
}  // namespace swipr::trace
