// Walks of this process's own stack, from where a signal interrupts it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstring>
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

extern "C" int call_without_cfi(int (*function)(int), int number);
// Keeps a frame record above its other words, as V8's code does.
__asm__(R"(
  .pushsection .text
  .type call_without_cfi, @function
call_without_cfi:
  sub sp, sp, #80
  stp x29, x30, [sp, #64]
  add x29, sp, #64
  mov x2, x0
  mov w0, w1
  blr x2
  ldp x29, x30, [sp, #64]
  add sp, sp, #80
  ret
  .size call_without_cfi, . - call_without_cfi
  .popsection
)");

extern "C" const char raise_with_record[];
extern "C" const char raise_with_record_end[];
// Makes a frame record and has its return address in x30 still. It is copied to where no image is.
__asm__(R"(
  .pushsection .text
  .globl raise_with_record
  .hidden raise_with_record
  .globl raise_with_record_end
  .hidden raise_with_record_end
raise_with_record:
  stp x29, x30, [sp, #-48]!
  mov x29, sp
  mov x8, #131  // tgkill
  svc #0
  ldp x29, x30, [sp], #48
  ret
raise_with_record_end:
  .popsection
)");

using Raise = void (*)(long pid, long tid, long number);
[[gnu::noinline]] void call_raise(Raise raise) {
  seen.in_caller = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
  raise(::getpid(), ::syscall(SYS_gettid), SIGUSR2);
  __asm__ volatile("" ::: "memory");
}

extern "C" void raise_with_marks(long pid, long tid, long number);
// Its CFA is relative to x29, and its registers x19 to x28 hold their numbers when the call
// returns.
__asm__(R"(
  .pushsection .text
  .type raise_with_marks, @function
  .globl raise_with_marks_end
  .hidden raise_with_marks_end
  .type raise_with_marks_end, @function
raise_with_marks:
  .cfi_startproc
  stp x29, x30, [sp, #-96]!
  .cfi_def_cfa_offset 96
  .cfi_offset 29, -96
  .cfi_offset 30, -88
  mov x29, sp
  .cfi_def_cfa_register 29
  .set number, 19
  .irp register, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28
    str \register, [sp, #16 + 8 * (number - 19)]
    mov \register, #number
    .set number, number + 1
  .endr
  mov x8, #131  // tgkill
  svc #0
raise_with_marks_end:
  .set number, 0
  .irp register, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28
    ldr \register, [sp, #16 + 8 * number]
    .set number, number + 1
  .endr
  ldp x29, x30, [sp], #96
  .cfi_def_cfa 31, 0
  ret
  .cfi_endproc
  .size raise_with_marks, . - raise_with_marks
  .popsection
)");
extern "C" void raise_with_marks_end();

std::array<std::uint64_t, 10> marks{};

_Unwind_Reason_Code note_marks(_Unwind_Context* context, void* /*argument*/) {
  if (_Unwind_GetIP(context) != reinterpret_cast<std::uint64_t>(&raise_with_marks_end)) {
    return _URC_NO_REASON;
  }
  for (int at = 0; at < 10; ++at) marks[at] = _Unwind_GetGR(context, 19 + at);
  return _URC_NORMAL_STOP;
}

void unwind_and_raise(int /*number*/, siginfo_t* /*info*/, void* /*context*/) {
  _Unwind_Backtrace(&note_marks, nullptr);
  ::raise(SIGUSR2);
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

// Whose caller has its stack pointer from its frame record.
TEST_F(AarchWalk, PassesCodeWithoutCfi) {
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(call_without_cfi(&caller, SIGUSR2), 2);
    EXPECT_EQ(walk_end, WalkEnd::kRoot);
    EXPECT_TRUE(has_frame(seen.in_callee));
    EXPECT_TRUE(has_frame(seen.in_caller));
  }
}

TEST_F(AarchWalk, PassesUnknownCodeThatHasMadeAFrameRecord) {
  const std::size_t bytes = raise_with_record_end - raise_with_record;
  constexpr std::size_t kPage = 4096;
  void* const page =
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  std::memcpy(page, raise_with_record, bytes);
  __builtin___clear_cache(static_cast<char*>(page), static_cast<char*>(page) + bytes);
  ASSERT_EQ(::mprotect(page, kPage, PROT_READ | PROT_EXEC), 0);
  call_raise(reinterpret_cast<Raise>(page));
  EXPECT_EQ(walk_end, WalkEnd::kRoot);
  EXPECT_EQ(frames.pcs[2], plain_return_address(seen.in_caller)) << "each frame is there once";
  ::munmap(page, kPage);
}

TEST_F(AarchWalk, PassesTheFrameOfASignalHandler) {
  EXPECT_EQ(caller(SIGUSR1), 2);
  EXPECT_EQ(walk_end, WalkEnd::kRoot);
  EXPECT_TRUE(has_frame(seen.in_callee));
  EXPECT_TRUE(has_frame(seen.in_caller));
}

TEST_F(AarchWalk, KnowsTheRegistersOfCodeThatASignalInterrupted) {
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = &unwind_and_raise;
  handler::put_program_handler(SIGUSR1, action);
  raise_with_marks(::getpid(), ::syscall(SYS_gettid), SIGUSR1);
  EXPECT_EQ(walk_end, WalkEnd::kRoot);
  EXPECT_TRUE(has_frame(reinterpret_cast<std::uint64_t>(&raise_with_marks_end)));
  EXPECT_EQ(marks, (std::array<std::uint64_t, 10>{19, 20, 21, 22, 23, 24, 25, 26, 27, 28}));
}

}  // namespace
}  // namespace swipr::unwind
