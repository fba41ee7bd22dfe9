// A traced call, one instruction after the other: at each the walk sees what it would see without
// tracing.
#include "preload/trace/places.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "preload/trace/calls/pool.h"
#include "preload/trace/calls/sampled_calls.h"
#include "preload/trace/traced_function.h"
#include "preload/unwind/base/replaced_code.h"
#include "preload/unwind/walk/page_probe_reader.h"
#include "preload/unwind/walk/stack_calls.h"
#include "preload/unwind/walk/walk.h"
#include "tests/unit/preload/trace/loaded_functions.h"
#include "tests/unit/preload/trace/places/steps.h"
#include "tests/unit/preload/trace/traced_functions.h"
#include "tests/unit/preload/unwind/self_map.h"

namespace swipr::trace {
namespace {

struct Step {
  std::uint64_t pc = 0;
  std::vector<std::uint64_t> frames;
  std::vector<unwind::OpenCall> calls;  // that the stack is in
  bool is_complete = false;
};

struct Steps {
  std::unique_ptr<unwind::SelfMap> map;
  std::unique_ptr<unwind::FrameBuffer> frames = std::make_unique<unwind::FrameBuffer>();
  std::vector<Step> all;
};
Steps* steps = nullptr;

void on_step(int, siginfo_t*, void* context) {
  const auto registers = unwind::registers_of(*static_cast<ucontext_t*>(context));
  unwind::PageProbeReader reader;
  unwind::walk(steps->map->code_map(), registers, reader, *steps->frames);
  Step step;
  step.pc = registers.values[unwind::kPc];
  const auto& walked = *steps->frames;
  step.frames.assign(walked.pcs.begin(), walked.pcs.begin() + walked.frame_count);
  unwind::OpenCalls calls;
  unwind::find_stack_calls(0, walked, reader, calls);
  step.calls.assign(calls.calls().begin(), calls.calls().end());
  step.is_complete = (walked.flags & wire::kStackRootReached) != 0;
  steps->all.push_back(std::move(step));
}

void nothing_inside(void*) { asm volatile(""); }

[[gnu::noinline]] void call_stepped(int which) {
  SWIPR_BEGIN_STEPS;
  if (which == 0) triple(14);
  if (which == 1) call_inside(2, &nothing_inside, nullptr);
  if (which == 2) tail_first(&nothing_inside, nullptr);
  SWIPR_END_STEPS;
}

// All functions that `which` calls.
std::vector<void*> functions_of(int which) {
  if (which == 0) return {reinterpret_cast<void*>(&triple)};
  if (which == 1) return {reinterpret_cast<void*>(&call_inside)};
  return {reinterpret_cast<void*>(&tail_first), reinterpret_cast<void*>(&tail_second)};
}

class Placed {
 public:
  explicit Placed(void* function) {
    static std::uint32_t probe = kProbeCount - 16;  // others count from both ends
    static LoadedFile program("");
    Plan plan;
    EXPECT_TRUE(
        program.plan(program.find(reinterpret_cast<std::uint64_t>(function)), function_, plan));
    traced_ = new TracedFunction;  // for ever
    EXPECT_EQ(traced_->set_up(function_, plan, --probe), Refusal::kNone);
    probe_ = probe;
    EXPECT_EQ(traced_->attach().status, GateStatus::kDone);
  }
  ~Placed() { EXPECT_EQ(traced_->detach().status, GateStatus::kDone); }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  bool contains(std::uint64_t pc) const { return pc >= function_.address && pc < function_.end(); }
  std::uint32_t probe() const { return probe_; }

 private:
  Function function_;
  TracedFunction* traced_;
  std::uint32_t probe_ = 0;
};

class TracedSteps : public testing::TestWithParam<int> {
 protected:
  TracedSteps() {
    install_gate_handler();
    struct sigaction action {};
    action.sa_sigaction = &on_step;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGTRAP, &action, nullptr);
    steps = &steps_;
  }
  void SetUp() override {
    if (!can_step()) GTEST_SKIP() << "loops of atomic operations do not end in single steps";
  }
  ~TracedSteps() override {
    signal(SIGTRAP, SIG_DFL);
    steps = nullptr;
  }
  // Stepped from one place, so that all return addresses are the same.
  void record(int which) {
    steps_.map = std::make_unique<unwind::SelfMap>();
    steps_.all.clear();
    make_room();
    prepare_steps();
    call_stepped(which);
    finish_steps();
  }

  // Not inlined: the compiler would call from two places, after it and without it.
  [[gnu::noinline]] void make_room() { steps_.all.reserve(100'000); }

  void compare();

  Steps steps_;
};

void check(const Step& step, const std::vector<std::uint64_t>& callers) {
  ASSERT_TRUE(step.is_complete);
  ASSERT_GT(step.frames.size(), callers.size());
  ASSERT_TRUE(std::equal(callers.rbegin(), callers.rend(), step.frames.rbegin()));
  for (std::size_t frame = 1; frame < step.frames.size(); ++frame) {
    ASSERT_EQ(real_return_address(step.frames[frame]), step.frames[frame]);
  }
}

void TracedSteps::compare() {
  std::vector<std::uint64_t> callers;  // of call_stepped()
  std::size_t untraced_steps = 0;
  std::set<std::uint64_t> own_code;  // pages that walks have to translate
  for (const bool traced : {false, true}) {
    std::vector<std::unique_ptr<Placed>> placed;
    for (void* const function : functions_of(GetParam())) {
      if (traced) placed.push_back(std::make_unique<Placed>(function));
    }
    record(GetParam());
    ASSERT_GT(steps_.all.size(), 5u);
    if (!traced) {
      const auto& first = steps_.all.front();
      ASSERT_TRUE(first.is_complete);
      callers.assign(first.frames.begin() + 1, first.frames.end());
      untraced_steps = steps_.all.size();
      continue;
    }
    ASSERT_GT(steps_.all.size(), untraced_steps + 100);  // hooks
    for (const Step& step : steps_.all) {
      ASSERT_NO_FATAL_FAILURE(check(step, callers)) << std::hex << step.pc;
      if (step.frames.front() == step.pc) continue;
      own_code.insert(step.pc);
      const std::uint64_t call = step.frames[step.frames.size() - callers.size() - 1];
      const bool is_function = std::ranges::any_of(
          placed, [&](const auto& one) { return one->contains(step.frames.front()); });
      ASSERT_TRUE(is_function || step.frames.front() == call) << std::hex << step.pc;
    }
  }
  EXPECT_GE(own_code.size(), 8u);  // stub, entry, thunk, copy
}

// In a thread of its own: others may be excluded, or block the signal.
TEST_P(TracedSteps, HaveTheCallersOfTheProgram) {
  std::thread([this] {
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
    compare();
  }).join();
}

// Each function is called once. Steps in its own code are in its call, and all steps know the same
// one of it; its end is told.
TEST_P(TracedSteps, KnowTheirCalls) {
  ASSERT_TRUE(prepare_sampled_calls());
  std::thread([this] {
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
    std::vector<std::unique_ptr<Placed>> placed;
    for (void* const function : functions_of(GetParam())) {
      placed.push_back(std::make_unique<Placed>(function));
    }
    take_sampled_calls([](const SampledCall&) {});
    record(GetParam());
    for (const auto& function : placed) {
      std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
      for (const Step& step : steps_.all) {
        const auto call =
            std::ranges::find(step.calls, function->probe(), &unwind::OpenCall::probe);
        if (call != step.calls.end()) seen.insert({call->place, call->start});
        // Behind the jump at its beginning.
        const bool is_inside = function->contains(step.pc) && !seen.empty();
        EXPECT_TRUE(!is_inside || call != step.calls.end()) << std::hex << step.pc;
      }
      ASSERT_EQ(seen.size(), 1u);
      std::size_t ends = 0;
      take_sampled_calls([&](const SampledCall& end) {
        if (end.probe != function->probe()) return;
        EXPECT_TRUE(seen.contains({end.place, end.start}));
        EXPECT_FALSE(end.unwound);
        ++ends;
      });
      EXPECT_TRUE(placed.size() != 1 || ends == 1);
    }
    EXPECT_TRUE(steps_.all.back().calls.empty());
  }).join();
}

INSTANTIATE_TEST_SUITE_P(All, TracedSteps, testing::Values(0, 1, 2));

TEST(ReplacedCode, IsReadAsItWas) {
  install_gate_handler();
  auto* const code = reinterpret_cast<const std::uint8_t*>(&triple);
  std::vector<std::uint8_t> before(code, code + 16);
  {
    const Placed placed(reinterpret_cast<void*>(&triple));
    for (std::size_t skipped = 0; skipped < 16; ++skipped) {
      std::vector<std::uint8_t> read(code + skipped, code + 16);
      unwind::replaced_code.load()->restore(reinterpret_cast<std::uint64_t>(code) + skipped, read);
      EXPECT_TRUE(std::equal(read.begin(), read.end(),
                             before.begin() + static_cast<std::ptrdiff_t>(skipped)));
    }
  }
  EXPECT_TRUE(std::equal(before.begin(), before.end(), code));
}

}  // namespace
}  // namespace swipr::trace
