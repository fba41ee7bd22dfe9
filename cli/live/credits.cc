#include "cli/live/credits.h"

#include <algorithm>

namespace swipr::live {

namespace {

void give(profile::Sample& sample, std::chrono::nanoseconds cpu) {
  sample.cpu += cpu;
  sample.wall += cpu;
  sample.credited += cpu;
}

}  // namespace

void Credits::apply(profile::Sample& sample) {
  using profile::State;
  if (sample.thread >= by_thread_.size()) by_thread_.resize(sample.thread + 1);
  Credit& credit = by_thread_[sample.thread];
  const bool runs = sample.state == State::kRunning && sample.stack != profile::kNone;
  const bool is_late = credit.cpu.count() > 0 && sample.time - credit.since > kPatience;
  if (runs || is_late) {
    give(sample, credit.cpu);
    credit = {};
    return;
  }
  if (sample.state != State::kBlocked && sample.state != State::kRunnable) return;
  const auto moved = std::min(sample.cpu, sample.wall);
  if (moved.count() <= 0) return;
  if (credit.cpu.count() == 0) credit.since = sample.time;
  credit.cpu += moved;
  give(sample, -moved);
}

}  // namespace swipr::live
