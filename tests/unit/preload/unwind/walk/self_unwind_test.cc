// Compares the walk with libunwind, frame by frame, in this process.
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "preload/unwind/walk/page_probe_reader.h"
#include "tests/unit/preload/unwind/chain.h"
#include "tests/unit/preload/unwind/self_map.h"

#if defined(SWIPR_TSAN)
// These handlers run where the test raises their signals, never inside of malloc.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "report_signal_unsafe=0";
}
#endif

namespace swipr::unwind {
namespace {

const SelfMap& self_map() {
  static const SelfMap map;
  return map;
}

struct Walked {
  WalkEnd end = WalkEnd::kNoRule;
  std::vector<std::uint64_t> pcs;
  std::vector<wire::FrameSource> sources;
  std::vector<bool> exact;
  std::uint64_t flags = 0;
  std::uint32_t omitted_at = 0;
};

Walked walk_from(const Registers& registers) {
  const auto frames = std::make_unique<FrameBuffer>();
  PageProbeReader reader;
  Walked walked;
  walked.end = walk(self_map().code_map(), registers, reader, *frames);
  walked.flags = frames->flags;
  walked.omitted_at = frames->omitted_at;
  for (std::uint32_t i = 0; i < frames->frame_count; ++i) {
    walked.pcs.push_back(frames->pcs[i]);
    walked.sources.push_back(static_cast<wire::FrameSource>(frames->kinds[i] & 3));
    walked.exact.push_back((frames->kinds[i] & 4) != 0);
  }
  return walked;
}

std::vector<std::uint64_t> libunwind_pcs(ucontext_t& context, int flags) {
  std::vector<std::uint64_t> pcs;
  unw_cursor_t cursor;
  if (unw_init_local2(&cursor, &context, flags) != 0) return pcs;
  do {
    unw_word_t pc = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &pc);
    if (pc == 0) break;
    pcs.push_back(pc);
  } while (unw_step(&cursor) > 0);
  return pcs;
}

// Both walks of one context, taken in the innermost function of a shape.
struct Comparison {
  Walked ours;
  std::vector<std::uint64_t> theirs;
};

[[gnu::noinline]] void compare_here(void* state) {
  auto& comparison = *static_cast<Comparison*>(state);
  ucontext_t context;
  unw_getcontext(&context);
  comparison.ours = walk_from(registers_of(context));
  comparison.theirs = libunwind_pcs(context, 0);
}

void expect_equal(const Comparison& comparison) {
  EXPECT_EQ(comparison.ours.end, WalkEnd::kRoot);
  EXPECT_EQ(comparison.ours.flags, wire::kStackRootReached);
  EXPECT_EQ(comparison.ours.pcs, comparison.theirs);
  for (std::size_t i = 1; i < comparison.ours.sources.size(); ++i) {
    EXPECT_EQ(comparison.ours.sources[i], wire::FrameSource::kCfi) << "frame " << i;
  }
}

TEST(SelfUnwind, FollowsDistinctFunctionsWithoutFramePointers) {
  Comparison comparison;
  call_through_chain(&compare_here, &comparison);
  expect_equal(comparison);
  EXPECT_GT(comparison.ours.pcs.size(), std::size_t{kChainLength});
}

TEST(SelfUnwind, FollowsACallbackOfLibc) {
  Comparison comparison;
  call_through_qsort(&compare_here, &comparison);
  expect_equal(comparison);
}

TEST(SelfUnwind, FollowsRealignedFramesWithVariableSize) {
  for (const std::size_t bytes : {1u, 100u, 5000u}) {
    Comparison comparison;
    call_through_realigned_frame(bytes, &compare_here, &comparison);
    expect_equal(comparison);
  }
}

TEST(SelfUnwind, ReachesTheRootOfAThread) {
  Comparison comparison;
  pthread_t thread;
  const auto body = [](void* state) -> void* {
    call_through_chain(&compare_here, state);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, body, &comparison), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  expect_equal(comparison);
}

TEST(SelfUnwind, MarksTheCutOfDeepStacks) {
  Comparison comparison;
  call_through_recursion(4000, &compare_here, &comparison);
  const Walked& ours = comparison.ours;
  const auto& theirs = comparison.theirs;
  EXPECT_EQ(ours.end, WalkEnd::kRoot);
  EXPECT_EQ(ours.flags, wire::kStackRootReached | wire::kStackCut);
  EXPECT_EQ(ours.omitted_at, kKeptInner);
  ASSERT_EQ(ours.pcs.size(), std::size_t{wire::kMaxFrames});
  ASSERT_GT(theirs.size(), std::size_t{4000});
  EXPECT_TRUE(std::equal(ours.pcs.begin(), ours.pcs.begin() + kKeptInner, theirs.begin()));
  EXPECT_TRUE(std::equal(ours.pcs.begin() + kKeptInner, ours.pcs.end(), theirs.end() - kKeptOuter));
}

TEST(SelfUnwind, KeepsAStackOfExactlyTheMaximum) {
  Comparison shallow;
  call_through_recursion(0, &compare_here, &shallow);
  const auto other_frames = static_cast<unsigned>(shallow.ours.pcs.size());
  Comparison comparison;
  call_through_recursion(wire::kMaxFrames - other_frames, &compare_here, &comparison);
  expect_equal(comparison);
  EXPECT_EQ(comparison.ours.pcs.size(), std::size_t{wire::kMaxFrames});
}

// From within a signal handler, with the interrupted context and with the handler's own.
Comparison* in_handler = nullptr;
Comparison* from_context = nullptr;

void on_signal(int, siginfo_t*, void* context) {
  compare_here(in_handler);
  auto& interrupted = *static_cast<ucontext_t*>(context);
  from_context->ours = walk_from(registers_of(interrupted));
  from_context->theirs = libunwind_pcs(interrupted, UNW_INIT_SIGNAL_FRAME);
}

class SignalHandler {
 public:
  explicit SignalHandler(int flags) {
    struct sigaction action = {};
    action.sa_sigaction = &on_signal;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(SIGUSR1, &action, &previous_);
    in_handler = &handler;
    from_context = &context;
  }
  ~SignalHandler() { sigaction(SIGUSR1, &previous_, nullptr); }

  Comparison handler;
  Comparison context;

 private:
  struct sigaction previous_ = {};
};

void raise_signal(void*) { pthread_kill(pthread_self(), SIGUSR1); }

TEST(SelfUnwind, WalksThroughTheSignalTrampoline) {
  SignalHandler signal(0);
  call_through_chain(&raise_signal, nullptr);
  expect_equal(signal.handler);
  expect_equal(signal.context);
  // Of handler, trampoline and the interrupted instruction the last two are no return addresses.
  const std::vector<bool>& exact = signal.handler.ours.exact;
  EXPECT_EQ(std::count(exact.begin() + 1, exact.end(), true), 2);
}

TEST(SelfUnwind, WalksFromAnAlternateStackToTheInterruptedOne) {
  std::vector<std::byte> memory(1 << 20);
  const stack_t stack{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  stack_t previous;
  ASSERT_EQ(sigaltstack(&stack, &previous), 0);
  SignalHandler signal(SA_ONSTACK);
  call_through_chain(&raise_signal, nullptr);
  EXPECT_EQ(sigaltstack(&previous, nullptr), 0);
  expect_equal(signal.handler);
  expect_equal(signal.context);
}

// Every instruction of libc functions and of this program that single-stepping reaches: prologues,
// epilogues, PLT entries, the lazy resolver.
struct Stepping {
  volatile bool active = true;
  unsigned steps = 0;
  unsigned in_vdso = 0;
  unsigned different = 0;
  unsigned astray = 0;  // of libunwind's walks
  std::vector<std::uint64_t> different_at;
};
Stepping* stepping = nullptr;

void on_trap(int, siginfo_t*, void* state) {
  constexpr greg_t kTrapFlag = 0x100;
  auto& context = *static_cast<ucontext_t*>(state);
  if (!stepping->active) {
    context.uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
    return;
  }
  context.uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  const Walked ours = walk_from(registers_of(context));
  const std::vector<std::uint64_t> theirs = libunwind_pcs(context, UNW_INIT_SIGNAL_FRAME);
  const std::uint64_t pc = registers_of(context).values[kPc];
  const CodeMap map = self_map().code_map();
  ++stepping->steps;
  stepping->in_vdso += map.find(pc) == map.find(getauxval(AT_SYSINFO_EHDR));
  // In the last instructions of a realigned frame the CFI of rbp is wrong. libunwind uses it.
  const bool astray = std::any_of(theirs.begin(), theirs.end(), [&map](std::uint64_t frame) {
    return map.find(frame) == nullptr;
  });
  stepping->astray += astray;
  if (ours.end == WalkEnd::kRoot && (astray || ours.pcs == theirs)) return;
  ++stepping->different;
  stepping->different_at.push_back(pc);
}

TEST(SelfUnwind, AgreesAtEveryInstructionOfRealCode) {
#ifdef SWIPR_TSAN
  GTEST_SKIP() << "steps are taken in ThreadSanitizer, too, where it may have a lock that the "
                  "handler's own events need";
#endif
  Stepping result;
  stepping = &result;
  struct sigaction action = {};
  struct sigaction previous = {};
  action.sa_sigaction = &on_trap;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGTRAP, &action, &previous), 0);
  int calls = 0;
  raise(SIGTRAP);  // the handler turns stepping on, and at the end off
  char text[64];
  calls += std::snprintf(text, sizeof text, "%d %s %5.2f", 42, "words", 2.5);
  call_through_qsort([](void* state) { ++*static_cast<int*>(state); }, &calls);
  call_through_realigned_frame(
      64, [](void*) {}, nullptr);
  // In the vDSO. clock_gettime would read again whenever the kernel has updated the time meanwhile:
  // for ever, where the steps of one reading take longer than a tick.
  calls += time(nullptr) > 0;
  result.active = false;
  ASSERT_EQ(sigaction(SIGTRAP, &previous, nullptr), 0);
  EXPECT_GT(result.steps, 1000u);
  EXPECT_GT(result.in_vdso, 0u);
  EXPECT_EQ(result.different, 0u) << "first at " << std::hex
                                  << (result.different ? result.different_at[0] : 0);
  EXPECT_LT(result.astray, 16u);
  std::printf("%u instructions, %u walks differ, %u of libunwind went astray\n", result.steps,
              result.different, result.astray);
}

TEST(SelfUnwind, BuildsTablesOfEverythingMapped) {
  bool vdso = false;
  for (const SelfMap::Image& image : self_map().images()) {
    if (image.path == "[vsyscall]") continue;  // a page of the kernel, not an ELF image
    EXPECT_EQ(image.built.status, BuildStatus::kOk) << image.path;
    EXPECT_NE(image.built.build_id_bytes, 0u) << image.path;
    vdso = vdso || image.path == "[vdso]";
  }
  EXPECT_TRUE(vdso);
}

Registers context_here() {
  ucontext_t context;
  unw_getcontext(&context);
  return registers_of(context);
}

TEST(SelfUnwind, StopsAtAnUnmappedStack) {
  void* const page = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  Registers registers = context_here();
  registers.values[kRsp] = reinterpret_cast<std::uint64_t>(page) + 64;
  registers.values[kRbp] = reinterpret_cast<std::uint64_t>(page) + 256;
  const Walked walked = walk_from(registers);
  EXPECT_EQ(walked.end, WalkEnd::kUnreadable);
  EXPECT_EQ(walked.flags, wire::kStackBroken);
  EXPECT_EQ(walked.pcs.size(), 1u);
  munmap(page, 8192);
}

// A stack of which everything above the first return address is overwritten.
TEST(SelfUnwind, InventsNothingOnASmashedStack) {
  std::vector<std::uint64_t> stack(4096, 0x4141414141414141);
  Registers registers = context_here();
  const auto entry = reinterpret_cast<std::uint64_t>(&call_through_qsort);
  registers.values[kPc] = entry;
  registers.values[kRsp] = reinterpret_cast<std::uint64_t>(stack.data());
  const Walked walked = walk_from(registers);
  EXPECT_EQ(walked.end, WalkEnd::kNoRule);
  EXPECT_EQ(walked.pcs, std::vector<std::uint64_t>{entry});
  EXPECT_EQ(walked.flags, wire::kStackBroken);
}

}  // namespace
}  // namespace swipr::unwind
