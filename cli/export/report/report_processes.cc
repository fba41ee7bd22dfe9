#include "cli/export/report/report_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace swipr::exporters {

namespace {

std::string_view mode_note(profile::Mode mode) {
  switch (mode) {
    case profile::Mode::kWall:
      return "";
    case profile::Mode::kCpu:
      return ", only time on a CPU";
    case profile::Mode::kOffCpu:
      return ", only time off the CPU";
  }
  return "";
}

// Deviations from the default settings.
std::string how_recorded(const profile::Process& process) {
  return fmt::format("{}{}", process.jitter ? "" : ", on a fixed grid", mode_note(process.mode));
}

double in_milliseconds(std::chrono::nanoseconds time) { return 1e3 * seconds(time); }

TerminalPage& put_title(TerminalPage& page, const profile::Process& process) {
  return page.put(process.command_name, Style::kHeading)
      .put(fmt::format(" (pid {}): ", process.pid.value));
}

std::uint64_t total_of(const profile::Process& process, const char* counter) {
  const auto found = process.totals.find(counter);
  return found == process.totals.end() ? 0 : found->second;
}

struct ProcessSums {
  std::uint64_t samples = 0;
  std::chrono::nanoseconds cpu{0};
  std::uint64_t weight = 0;
  std::uint64_t without_stack = 0;
};

std::vector<ProcessSums> sums_by_process(const profile::Recording& recording,
                                         profile::Weight weight) {
  std::vector<ProcessSums> sums(recording.processes.size());
  for (const profile::Sample& sample : recording.samples) {
    ProcessSums& sum = sums[recording.threads[sample.thread].process];
    sum.samples += sample.ticks;
    sum.cpu += sample.cpu;
    sum.weight += profile::weight_of(sample, weight);
    if (sample.stack == profile::kNone) sum.without_stack += sample.ticks;
  }
  return sums;
}

// A process that was killed in its first second has samples but no totals.
void put_process_without_totals(TerminalPage& page, const profile::Process& process,
                                const ProcessSums& sums) {
  put_title(page, process)
      .put(fmt::format("{:.2f} s, one tick every {:g} ms{}, truncated before its first totals",
                       seconds(process.duration), in_milliseconds(process.interval),
                       how_recorded(process)))
      .end_line();
  page.line(fmt::format("  samples {}; CPU time {:.3f} s", sums.samples, seconds(sums.cpu)));
}

void put_process(TerminalPage& page, const profile::Process& process, const ProcessSums& sums) {
  if (process.totals.empty()) return put_process_without_totals(page, process, sums);
  const std::uint64_t ticks = total_of(process, "ticks");
  const std::uint64_t walked = total_of(process, "stacks_walked");
  put_title(page, process)
      .put(fmt::format("{:.2f} s, {} of {} ticks, one every {:g} ms{}{}", seconds(process.duration),
                       ticks, ticks + total_of(process, "ticks_missed"),
                       in_milliseconds(process.interval), how_recorded(process),
                       process.complete ? "" : ", truncated"))
      .end_line();
  const std::uint64_t dropped = total_of(process, "samples_dropped");
  page.put(fmt::format("  samples {}, ", total_of(process, "samples")))
      .put(fmt::format("dropped {}", dropped), dropped == 0 ? Style::kPlain : Style::kHot)
      .put(fmt::format(", without a stack {}; stacks that reach the root {:.1f} %",
                       total_of(process, "stacks_missing"),
                       walked == 0 ? 100.0 : percent(total_of(process, "stacks_rooted"), walked)))
      .end_line();
  page.line(fmt::format("  CPU time {:.3f} s, of it swipr's own {:.3f} s",
                        static_cast<double>(total_of(process, "process_cpu_ns")) / 1e9,
                        static_cast<double>(total_of(process, "agent_cpu_ns")) / 1e9));
}

// Sums of all processes.
void put_sums(TerminalPage& page, const profile::Recording& recording) {
  std::map<std::string, std::uint64_t> sums;
  for (const profile::Process& process : recording.processes) {
    for (const auto& [counter, value] : process.totals) sums[counter] += value;
  }
  const profile::Process& first = recording.processes.front();
  page.line(
      fmt::format("{} processes: {} of {} ticks, one every {:g} ms{}", recording.processes.size(),
                  sums["ticks"], sums["ticks"] + sums["ticks_missed"],
                  in_milliseconds(first.interval), how_recorded(first)),
      Style::kHeading);
  page.line(fmt::format(
      "  stacks that reach the root {:.1f} %; swipr's own CPU time {:.3f} s",
      sums["stacks_walked"] == 0 ? 100.0 : percent(sums["stacks_rooted"], sums["stacks_walked"]),
      static_cast<double>(sums["agent_cpu_ns"]) / 1e9));
  page.line("");
}

std::vector<std::uint32_t> heaviest_first(const std::vector<ProcessSums>& sums) {
  std::vector<std::uint32_t> order(sums.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&sums](std::uint32_t left, std::uint32_t right) {
    if (sums[left].weight != sums[right].weight) return sums[left].weight > sums[right].weight;
    return sums[left].samples > sums[right].samples;
  });
  return order;
}

void put_row(TerminalPage& page, const ProcessSums& sums, double share, std::uint64_t dropped) {
  page.put(fmt::format("{:6.1f} %", share), heat_of(share))
      .put(fmt::format(" {:10.3f} {:9} {:9} ", seconds(sums.cpu), sums.samples, sums.without_stack))
      .put(fmt::format("{:8} ", dropped), dropped == 0 ? Style::kFaint : Style::kHot);
}

void put_table(TerminalPage& page, const profile::Recording& recording,
               const std::vector<ProcessSums>& sums, const ReportOptions& options) {
  std::uint64_t whole = 0;
  for (const ProcessSums& each : sums) whole += each.weight;
  page.line(fmt::format("{:>8} {:>10} {:>9} {:>9} {:>8} {:>8}  {}", "share", "CPU s", "samples",
                        "no stack", "dropped", "pid", "process"),
            Style::kHeading);
  const std::vector<std::uint32_t> order = heaviest_first(sums);
  const std::size_t count = std::min(order.size(), std::max<std::size_t>(options.row_count, 1));
  ProcessSums rest;
  std::uint64_t dropped = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const profile::Process& process = recording.processes[order[place]];
    const ProcessSums& own = sums[order[place]];
    const std::uint64_t lost = total_of(process, "samples_dropped");
    if (place < count) {
      put_row(page, own, percent(own.weight, whole), lost);
      page.put(fmt::format("{:8}  ", process.pid.value))
          .put(process.command_name)
          .put(process.complete ? "" : ", truncated")
          .end_line();
      continue;
    }
    rest.samples += own.samples;
    rest.cpu += own.cpu;
    rest.weight += own.weight;
    rest.without_stack += own.without_stack;
    dropped += lost;
  }
  if (count == order.size()) return;
  put_row(page, rest, percent(rest.weight, whole), dropped);
  page.line(fmt::format("{:8}  {} more", "", order.size() - count));
}

}  // namespace

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

Style heat_of(double share) {
  if (share >= 30) return Style::kHot;
  if (share >= 5) return Style::kWarm;
  return share < 1 ? Style::kFaint : Style::kPlain;
}

void put_rest(TerminalPage& page, std::size_t width, std::size_t count) {
  if (count > 0) page.line(fmt::format("{:>{}}{} more", "", width, count), Style::kFaint);
}

void put_processes(TerminalPage& page, const profile::Recording& recording,
                   const ReportOptions& options) {
  const std::vector<ProcessSums> sums = sums_by_process(recording, options.weight);
  if (sums.size() == 1) return put_process(page, recording.processes.front(), sums.front());
  if (sums.empty()) return;
  put_sums(page, recording);
  put_table(page, recording, sums, options);
}

}  // namespace swipr::exporters
