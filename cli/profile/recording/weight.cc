#include <algorithm>
#include <array>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {

std::string_view mode_name(Mode mode) {
  static constexpr std::array<std::string_view, 3> kNames = {"wall", "cpu", "offcpu"};
  return kNames[static_cast<std::size_t>(mode)];
}

Weight natural_weight(const Recording& recording) {
  const auto& all = recording.processes;
  const bool off_cpu = !all.empty() && std::all_of(all.begin(), all.end(), [](const auto& process) {
    return process.mode == Mode::kOffCpu;
  });
  if (off_cpu) return Weight::kBlocked;
  const auto has = [&recording](State state) {
    return std::any_of(recording.samples.begin(), recording.samples.end(),
                       [state](const Sample& sample) { return sample.state == state; });
  };
  if (recording.samples.empty() || has(State::kRunning)) return Weight::kCpu;
  if (has(State::kBlocked)) return Weight::kBlocked;
  return has(State::kRunnable) ? Weight::kRunqueue : Weight::kSamples;
}

std::span<const std::uint32_t> calls_of(const Recording& recording, std::uint32_t calls) {
  if (calls == kNone) return {};
  const CallSet set = recording.call_sets[calls];
  return std::span(recording.open_calls).subspan(set.first, set.count);
}

std::span<const std::uint32_t> calls_of(const Recording& recording, const Sample& sample) {
  return calls_of(recording, sample.calls);
}

const std::string* find_label(const LabelSet& labels, std::string_view key) {
  const auto found = std::find_if(labels.begin(), labels.end(),
                                  [key](const auto& label) { return label.first == key; });
  return found == labels.end() ? nullptr : &found->second;
}

void keep_states(Recording& recording, StateSet states) {
  if (states.empty()) return;
  std::erase_if(recording.samples,
                [states](const Sample& sample) { return !states.has(sample.state); });
}

std::uint64_t weight_of(const Sample& sample, Weight weight) {
  const auto count = [](std::chrono::nanoseconds time) {
    return time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0;
  };
  switch (weight) {
    case Weight::kSamples:
      return sample.ticks;
    case Weight::kCpu:
      return count(sample.cpu);
    case Weight::kWall:
      return count(sample.wall);
    case Weight::kBlocked:
      // The thread may have run all the time.
      if (!sample.has_clocks) return 0;
      return count(sample.wall - sample.cpu - sample.runqueue);
    case Weight::kRunqueue:
      return count(sample.runqueue);
  }
  return 0;
}

}  // namespace swipr::profile
