#include "tests/unit/preload/agent/engine/program_threads.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#define SWIPR_TEST_FRAME extern "C" __attribute__((visibility("default"), noinline))

namespace swipr::test {

namespace {
std::string task_path(int tid, const char* file) {
  return "/proc/self/task/" + std::to_string(tid) + "/" + file;
}
}  // namespace

// Each keeps its frame: a barrier after the call prevents a tail call.
SWIPR_TEST_FRAME void recorder_test_inner(const std::function<void()>* block) {
  (*block)();
  asm volatile("" ::: "memory");
}
SWIPR_TEST_FRAME void recorder_test_middle(const std::function<void()>* block) {
  recorder_test_inner(block);
  asm volatile("" ::: "memory");
}
SWIPR_TEST_FRAME void recorder_test_outer(const std::function<void()>* block) {
  recorder_test_middle(block);
  asm volatile("" ::: "memory");
}
SWIPR_TEST_FRAME void recorder_test_across(const std::function<void()>* block) {
  char frame[4096];
  std::memset(frame, 0x55, sizeof frame);
  asm volatile("" ::"r"(frame) : "memory");
  (*block)();
  asm volatile("" ::"r"(frame) : "memory");
}
SWIPR_TEST_FRAME void recorder_test_spin(std::atomic<bool>* stop) {
  while (!stop->load(std::memory_order_relaxed)) {
  }
}

void call_through_chain(const std::function<void()>& block) { recorder_test_outer(&block); }

ProgramThread::ProgramThread(std::function<void()> body)
    : thread_([this, body = std::move(body)] {
        tid_ = static_cast<int>(::syscall(SYS_gettid));
        body();
      }) {
  eventually([this] { return tid_ != 0; });
}

std::chrono::nanoseconds ProgramThread::cpu() {
  clockid_t clock{};
  timespec time{};
  ::pthread_getcpuclockid(thread_.native_handle(), &clock);
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

bool ProgramThread::waits() const {
  return eventually([this] {
    std::string first;
    std::ifstream(task_path(tid_, "syscall")) >> first;
    return !first.empty() && first != "running";
  });
}

long ProgramThread::voluntary_switches() const {
  std::ifstream status(task_path(tid_, "status"));
  std::string word;
  long value = -1;
  while (status >> word) {
    if (word == "voluntary_ctxt_switches:") status >> value;
  }
  return value;
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::sched_yield();
  }
  return true;
}

}  // namespace swipr::test
