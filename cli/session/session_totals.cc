#include "cli/session/session_totals.h"

#include <fmt/format.h>

#include <algorithm>

namespace swipr::session {

namespace {

using std::chrono::nanoseconds;
namespace counter = wire::counter;

constexpr std::size_t kMaxWarnings = 64;

std::uint64_t expected_ticks(const StreamSummary& stream) {
  if (stream.ticks_asked != 0) return stream.ticks_asked;
  return stream.total(counter::kTicks, stream.ticks) + stream.total(counter::kTicksMissed, 0);
}

nanoseconds nanoseconds_of(std::uint64_t count) {
  return nanoseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX / 2)));
}

}  // namespace

void SessionTotals::add(const StreamSummary& stream) {
  processes += 1;
  ticks_asked += expected_ticks(stream);
  ticks += stream.total(counter::kTicks, stream.ticks);
  ticks_missed += stream.total(counter::kTicksMissed, 0);
  ticks_stretched += stream.total(counter::kTicksStretched, 0);
  samples += stream.total(counter::kSamples, stream.samples);
  dropped += stream.total(counter::kSamplesDropped, 0);
  threads += stream.total(counter::kThreads, stream.threads);
  stacks_walked += stream.total(counter::kStacksWalked, 0);
  stacks_rooted += stream.total(counter::kStacksRooted, 0);
  stacks_missing += stream.total(counter::kStacksMissing, 0);
  sampled_cpu += stream.sampled_cpu;
  agent_cpu += nanoseconds_of(stream.total(counter::kAgentCpuNs, 0));
  refused_runtimes.insert(stream.refused_runtimes.begin(), stream.refused_runtimes.end());
  for (const std::string& text : stream.warnings) {
    if (!warnings.contains(text) && warnings.size() == kMaxWarnings) continue;
    WarnedProcesses& warned = warnings[text];
    if (warned.count++ == 0) {
      warned.first = fmt::format("{} ({})", stream.command_name, stream.pid.value);
    }
  }
}

std::vector<std::string> describe_warnings(const SessionTotals& totals) {
  std::vector<std::string> lines;
  for (const auto& [text, warned] : totals.warnings) {
    lines.push_back(warned.count == 1
                        ? fmt::format("{}: {}", warned.first, text)
                        : fmt::format("{} and {} more: {}", warned.first, warned.count - 1, text));
  }
  return lines;
}

nanoseconds cpu_of(const rusage& usage) {
  const auto time = [](const timeval& value) {
    return std::chrono::seconds(value.tv_sec) + std::chrono::microseconds(value.tv_usec);
  };
  return time(usage.ru_utime) + time(usage.ru_stime);
}

std::string describe_missing_cpu(nanoseconds command, nanoseconds known) {
  constexpr nanoseconds kLittle = std::chrono::milliseconds(50);
  const auto seconds = [](nanoseconds time) { return std::chrono::duration<double>(time).count(); };
  const nanoseconds missing = command - known;
  if (missing < kLittle || missing < command / 20) return {};
  return fmt::format(
      "{:.3f} s of the command's {:.3f} s of CPU time ({:.0f} %) are in no sample: they were spent "
      "while programs were loaded or exited, or in programs that were not recorded",
      seconds(missing), seconds(command), 100 * seconds(missing) / seconds(command));
}

}  // namespace swipr::session
