// Threads at known locations: the program that is recorded.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace swipr::test {

// Something to wait for.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int read_end() const { return ends_[0]; }
  void release() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }

 private:
  int ends_[2];
};

// Sanitizers realign frames: the walk needs RBX, which /proc does not show of a blocked thread, and
// a signal would break most calls. Such stacks end early, marked incomplete.
#if defined(SWIPR_ASAN) || defined(SWIPR_TSAN)
inline constexpr bool kPlainPrologues = false;
#else
inline constexpr bool kPlainPrologues = true;
#endif
inline constexpr char kWhyProloguesMatter[] =
    "sanitizers realign frames, which cannot be walked from outside";

// A thread that runs `body`, and its tid.
class ProgramThread {
 public:
  explicit ProgramThread(std::function<void()> body);
  ~ProgramThread() { join(); }
  int tid() const { return tid_; }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  // CPU time so far.
  std::chrono::nanoseconds cpu();
  // Waits until the kernel shows it blocked; false: not within 40 seconds.
  bool waits() const;
  // As /proc counts them.
  long voluntary_switches() const;

 private:
  std::atomic<int> tid_{0};
  std::thread thread_;
};

// Condition with a deadline of 40 seconds.
bool eventually(const std::function<bool()>& condition);

// A call of `block` from exactly three functions, outermost first: recorder_test_outer,
// recorder_test_middle, recorder_test_inner.
void call_through_chain(const std::function<void()>& block);
inline const std::string kChain[3] = {"recorder_test_inner", "recorder_test_middle",
                                      "recorder_test_outer"};

// Calls `block` from one frame of 4 KiB that holds no address of code.
extern "C" void recorder_test_across(const std::function<void()>* block);

// Computes until told to stop, in recorder_test_spin.
extern "C" void recorder_test_spin(std::atomic<bool>* stop);

}  // namespace swipr::test
