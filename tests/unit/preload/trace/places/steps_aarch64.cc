#include "tests/unit/preload/trace/places/steps_aarch64.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

namespace swipr::trace {
namespace {

constexpr std::uint64_t kBegin = 5000, kEnd = 5001;
constexpr std::uint32_t kSvc = 0xd4000001;
constexpr int kInCall = SIGTRAP | 0x80;

class Tracer {
 public:
  explicit Tracer(pid_t tid) : tid_(tid) {}

  bool attach() const {
    return ::ptrace(PTRACE_SEIZE, tid_, nullptr, PTRACE_O_TRACESYSGOOD) == 0 &&
           ::ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) == 0 && stopped() != 0;
  }
  // To the end of the call that marks the begin, then one instruction after the other.
  bool run() const {
    while (resume(PTRACE_SYSCALL, 0) != kInCall || call() != kBegin) {
    }
    if (resume(PTRACE_SYSCALL, 0) != kInCall) return false;
    while (!is_at_end()) {
      if (resume(PTRACE_SINGLESTEP, 0) != SIGTRAP || !handle()) return false;
    }
    return ::ptrace(PTRACE_DETACH, tid_, nullptr, nullptr) == 0;
  }

 private:
  // The signal, or kInCall. 0: it has ended.
  int stopped() const {
    int status = 0;
    return ::waitpid(tid_, &status, __WALL) == tid_ && WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
  }
  int resume(__ptrace_request how, std::intptr_t signal) const {
    return ::ptrace(how, tid_, nullptr, reinterpret_cast<void*>(signal)) == 0 ? stopped() : 0;
  }
  user_regs_struct registers() const {
    user_regs_struct all{};
    iovec place{&all, sizeof all};
    ::ptrace(PTRACE_GETREGSET, tid_, reinterpret_cast<void*>(NT_PRSTATUS), &place);
    return all;
  }
  std::uint64_t call() const { return registers().regs[8]; }
  bool is_at_end() const {
    const auto all = registers();
    const long word = ::ptrace(PTRACE_PEEKTEXT, tid_, all.pc, nullptr);
    return static_cast<std::uint32_t>(word) == kSvc && all.regs[8] == kEnd;
  }
  // Its handler of the step, to the end of the call by which it returns.
  bool handle() const {
    int stop = resume(PTRACE_SYSCALL, SIGTRAP);
    while (stop == kInCall && call() != SYS_rt_sigreturn) stop = resume(PTRACE_SYSCALL, 0);
    return stop == kInCall && resume(PTRACE_SYSCALL, 0) == kInCall;
  }

  pid_t tid_;
};

pid_t tracer = 0;

}  // namespace

bool can_step() { return (::getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0; }

void prepare_steps() {
  const auto tid = static_cast<pid_t>(::syscall(SYS_gettid));
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  tracer = ::fork();
  if (tracer == 0) {
    const Tracer one(tid);
    const bool attached = one.attach();
    if (::write(ready[1], attached ? "y" : "n", 1) != 1) ::_exit(1);
    ::_exit(attached && one.run() ? 0 : 1);
  }
  char answer = 0;
  // Interrupted by the tracer itself: its stop is before it writes.
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  ::close(ready[0]);
  ::close(ready[1]);
}

void finish_steps() {
  int status = -1;
  EXPECT_EQ(::waitpid(tracer, &status, 0), tracer);
  EXPECT_EQ(status, 0);
}

}  // namespace swipr::trace
