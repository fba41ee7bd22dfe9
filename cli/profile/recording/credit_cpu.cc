#include <algorithm>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {

namespace {

void move_cpu(Sample& from, Sample& to) {
  const auto moved = std::min(from.cpu, from.wall);
  from.cpu -= moved;
  from.wall -= moved;
  from.credited -= moved;
  to.cpu += moved;
  to.wall += moved;
  to.credited += moved;
}

}  // namespace

void credit_cpu(Recording& recording) {
  // By thread: its waiting samples with CPU time since its last running sample.
  std::vector<std::vector<std::size_t>> waiting(recording.threads.size());
  for (std::size_t index = 0; index < recording.samples.size(); ++index) {
    Sample& sample = recording.samples[index];
    std::vector<std::size_t>& earlier = waiting[sample.thread];
    const bool waits = sample.state == State::kBlocked || sample.state == State::kRunnable;
    if (waits && sample.cpu.count() > 0) {
      earlier.push_back(index);
    } else if (sample.state == State::kRunning && sample.stack != kNone) {
      for (const std::size_t at : earlier) move_cpu(recording.samples[at], sample);
      earlier.clear();
    }
  }
}

}  // namespace swipr::profile
