// Code that changes while the process forks.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "preload/trace/traced_function.h"

namespace swipr::trace {

// `works`: calls the function; false: with another result than without being traced. Children call
// it, too. `start`: starts a thread that runs what it gets.
template <typename Start>
void expect_closed_for_forks(TracedFunction& function, bool (*works)(), Start&& start) {
  std::atomic<bool> stops{false};
  std::atomic<int> failed{0};
  std::thread forks = start([&] {
    while (!stops) {
      const pid_t child = fork();
      if (child == 0) _exit(works() ? 0 : 1);
      int status = 1;
      failed += waitpid(child, &status, 0) != child || status != 0;
    }
  });
  for (int round = 0; round < 100; ++round) {
    function.attach();
    EXPECT_NE(function.detach().status, GateStatus::kNotWritable);
  }
  stops = true;
  forks.join();
  EXPECT_EQ(failed, 0);
  function.detach();
  EXPECT_TRUE(function.is_as_before());
}

}  // namespace swipr::trace
