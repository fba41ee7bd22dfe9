// Functions of this program, of libc and of libstdc++ are attached and detached in random order
// while threads check their own results. SWIPR_TRACE_SECONDS: how long (5).
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <random>

#include "preload/trace/calls/pool.h"
#include "preload/trace/traced_function.h"
#include "tests/unit/preload/trace/checked_work.h"
#include "tests/unit/preload/trace/loaded_functions.h"
#include "tests/unit/preload/trace/traced_functions.h"

namespace swipr::trace {
namespace {

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
    const CheckedWork work;
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
    for (const auto& traced : candidates.all()) {
      GateReport report = traced->detach();
      // As the control thread does. On a slow machine one fork follows the other.
      for (int round = 0; round < 100 && report.status == GateStatus::kForking; ++round) {
        report = traced->detach();
      }
      EXPECT_EQ(report.status, GateStatus::kDone);
    }
    EXPECT_EQ(candidates.changed_bytes(), 0u);
  }
  for (std::size_t kind = 0; kind < kWorkKinds; ++kind) EXPECT_EQ(wrong_results[kind], 0) << kind;
  EXPECT_GT(work_rounds, 0);
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
      work_rounds.load(), static_cast<unsigned long long>(calls),
      static_cast<unsigned long long>(called), results[GateStatus::kDone],
      results[GateStatus::kNotReached], results[GateStatus::kForking],
      static_cast<unsigned long long>(moved), static_cast<unsigned long long>(signalled),
      static_cast<double>(longest_ns) / 1e6, open_calls());
}

}  // namespace
}  // namespace swipr::trace
