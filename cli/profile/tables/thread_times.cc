#include "cli/profile/tables/thread_times.h"

#include <algorithm>
#include <tuple>

namespace swipr::profile {

std::vector<ThreadTimes> thread_times(const Recording& recording) {
  std::vector<ThreadTimes> times(recording.threads.size());
  for (std::uint32_t index = 0; index < times.size(); ++index) times[index].thread = index;
  for (const Sample& sample : recording.samples) {
    ThreadTimes& thread = times[sample.thread];
    thread.samples += sample.ticks;
    thread.cpu += sample.cpu;
    thread.runqueue += sample.runqueue;
    thread.blocked +=
        std::chrono::nanoseconds(static_cast<std::int64_t>(weight_of(sample, Weight::kBlocked)));
  }
  std::sort(times.begin(), times.end(), [](const ThreadTimes& a, const ThreadTimes& b) {
    return std::tuple(b.cpu, b.runqueue, a.thread) < std::tuple(a.cpu, a.runqueue, b.thread);
  });
  return times;
}

bool has_samples(const Recording& recording) {
  return std::any_of(recording.samples.begin(), recording.samples.end(),
                     [](const Sample& sample) { return sample.ticks != 0; });
}

}  // namespace swipr::profile
