// Walks of this process's own stack, from where a signal interrupts it.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <memory>

#include "preload/handler/signals/context.h"
#include "preload/handler/signals/handler_return.h"
#include "preload/unwind/walk/page_probe_reader.h"
#include "preload/unwind/walk/walk.h"
#include "tests/unit/preload/unwind/self_map.h"

namespace swipr::unwind {
namespace {

struct Seen {
  std::uint64_t in_callee = 0;  // return addresses
  std::uint64_t in_caller = 0;
};

CodeMap* code_map = nullptr;
FrameBuffer frames;
WalkEnd walk_end = WalkEnd::kCut;
Seen seen;

void walk_from(int /*number*/, siginfo_t* /*info*/, void* context) {
  Registers registers;
  handler::take_registers(*static_cast<const ucontext_t*>(context), registers);
  PageProbeReader reader(handler::last_written_byte(*static_cast<const ucontext_t*>(context)));
  walk_end = walk(*code_map, registers, reader, frames, nullptr);
}

void raise_another(int /*number*/, siginfo_t* /*info*/, void* /*context*/) { ::raise(SIGUSR2); }

[[gnu::noinline]] int callee(int number) {
  seen.in_callee = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  const int result = ::raise(number);
  __asm__ volatile("" ::: "memory");
  return result + 1;
}

[[gnu::noinline]] int caller(int number) {
  seen.in_caller = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  const int result = callee(number);
  __asm__ volatile("" ::: "memory");
  return result + 1;
}

bool has_frame(std::uint64_t pc) {
  const auto end = frames.pcs.begin() + frames.frame_count;
  return std::find(frames.pcs.begin(), end, plain_return_address(pc)) != end;
}

class AarchWalk : public testing::Test {
 protected:
  AarchWalk() : map_(std::make_unique<SelfMap>()), code_(map_->cached_code_map()) {
    code_map = &code_;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = &walk_from;
    ::sigaction(SIGUSR2, &action, nullptr);
    action.sa_sigaction = &raise_another;
    handler::put_program_handler(SIGUSR1, action);
  }

  std::unique_ptr<SelfMap> map_;
  CodeMap code_;
};

TEST_F(AarchWalk, ReachesTheRoot) {
  for (int round = 0; round < 2; ++round) {  // the second with cached rules
    EXPECT_EQ(caller(SIGUSR2), 2);
    EXPECT_EQ(walk_end, WalkEnd::kRoot);
    EXPECT_TRUE(has_frame(seen.in_callee));
    EXPECT_TRUE(has_frame(seen.in_caller));
  }
}

TEST_F(AarchWalk, PassesTheFrameOfASignalHandler) {
  EXPECT_EQ(caller(SIGUSR1), 2);
  EXPECT_EQ(walk_end, WalkEnd::kRoot);
  EXPECT_TRUE(has_frame(seen.in_callee));
  EXPECT_TRUE(has_frame(seen.in_caller));
}

}  // namespace
}  // namespace swipr::unwind
