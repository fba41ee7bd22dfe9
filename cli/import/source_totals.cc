// What the end of a source tells: totals, and warnings about losses.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "cli/import/source_records.h"
#include "common/wire/format.h"

namespace swipr::importers {

void SourceRecords::finish() {
  if (stacks_lost_ != 0) {
    builder_.warn(
        fmt::format("{}: {} samples have no stack because their stacks were in a damaged "
                    "part of the recording",
                    label(), stacks_lost_));
  }
  if (process_ == profile::kNone) return;
  profile::Process& process = builder_.process(process_);
  // An image that exec replaced has sent all samples but could not write an end record.
  const bool lost_its_end = vanished_ && !builder_.has_later_image(process_);
  process.complete = ended_ && !lost_its_end;
  if (!ended_ || vanished_) complete_totals(process);
  warn_of_losses(process);
  if (lost_its_end) {
    builder_.warn(
        fmt::format("{}: the recording has no end record (the process was killed?); its last "
                    "samples may be missing",
                    label()));
  }
  if (!ended_) {
    builder_.warn(fmt::format("{}: the recording is truncated after {:.3f} s", label(),
                              static_cast<double>(now_ns_) / 1e9));
  }
}

void SourceRecords::warn_of_losses(const profile::Process& process) {
  const auto& totals = process.totals;
  const auto count = [&totals](std::string_view name) {
    const auto place = totals.find(std::string(name));
    return place == totals.end() ? 0 : place->second;
  };
  if (const std::uint64_t lost = count(wire::counter::kSamplesDropped); lost != 0) {
    builder_.warn(fmt::format("{}: {} of {} samples were dropped because the reader was too slow",
                              label(), lost, lost + count(wire::counter::kSamples)));
  }
  if (const std::uint64_t missed = count(wire::counter::kTicksMissed); missed != 0) {
    builder_.warn(fmt::format("{}: {} of {} ticks came too late and were skipped", label(), missed,
                              missed + count(wire::counter::kTicks)));
  }
  if (const std::uint64_t lost = count(wire::counter::kLabelsLost); lost != 0) {
    builder_.warn(
        fmt::format("{}: {} labels of threads were lost: a thread can have 8, with keys "
                    "of 1 to 63 bytes, and 16,384 threads can have some",
                    label(), lost));
  }
  if (const std::uint64_t cut = count(wire::counter::kLabelsCut); cut != 0) {
    builder_.warn(fmt::format("{}: {} values of labels were cut: key and value have 126 bytes",
                              label(), cut));
  }
  if (const std::uint64_t nameless = count(wire::counter::kStacksNameless); nameless != 0) {
    builder_.warn(
        fmt::format("{}: in {} of {} stacks functions are [function gone] because the names of "
                    "those that were seen before fill the memory for names",
                    label(), nameless, count(wire::counter::kStacksWalked)));
  }
}

// The last totals record may be up to a second older than the last samples. The first one is empty.
void SourceRecords::complete_totals(profile::Process& process) const {
  const auto at_least = [&process](std::string_view name, std::uint64_t value) {
    std::uint64_t& total = process.totals[std::string(name)];
    total = std::max(total, value);
  };
  namespace counter = wire::counter;
  process.duration =
      std::max(process.duration, std::chrono::nanoseconds(static_cast<std::int64_t>(now_ns_)));
  at_least(counter::kTicks, received_.ticks);
  at_least(counter::kSamples, received_.samples);
  at_least(counter::kStacksMissing, received_.samples_without_stack);
  at_least(counter::kStacksWalked, received_.stacks);
  at_least(counter::kStacksRooted, received_.stacks_rooted);
  // An artificial thread has no tid.
  at_least(counter::kThreads, static_cast<std::uint64_t>(std::count_if(
                                  threads_.begin(), threads_.end(), [this](const auto& thread) {
                                    return builder_.thread(thread.second.index).tid.value != 0;
                                  })));
  at_least(counter::kProcessCpuNs, received_.cpu_ns);
}

}  // namespace swipr::importers
