// CPU time that is recorded with waiting stacks belongs to the stack in which the thread is found
// running next (profile::credit_cpu). The same for a recording that goes on. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::live {

class Credits {
 public:
  // How long CPU time waits for a running sample. Then it stays with a waiting one.
  static constexpr std::chrono::seconds kPatience{10};

  // Takes the samples of each thread in order of time. Moves CPU time out of, or into, the sample.
  void apply(profile::Sample& sample);

 private:
  struct Credit {
    std::chrono::nanoseconds cpu{0};
    std::chrono::nanoseconds since{0};
  };

  std::vector<Credit> by_thread_;
};

}  // namespace swipr::live
