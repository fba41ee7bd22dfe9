#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "cli/export/report.h"
#include "cli/export/report_paths.h"
#include "cli/export/terminal_page.h"
#include "cli/export/text.h"
#include "cli/profile/thread_times.h"
#include "cli/profile/top_functions.h"
#include "cli/profile/wait_times.h"

namespace swipr::exporters {

namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string_view describe(profile::Weight weight) {
  switch (weight) {
    case profile::Weight::kSamples:
      return "samples";
    case profile::Weight::kCpu:
      return "CPU time";
    case profile::Weight::kWall:
      return "wall time";
    case profile::Weight::kBlocked:
      return "blocked time";
    case profile::Weight::kRunqueue:
      return "time waiting for a CPU";
  }
  return "";
}

std::string_view describe(profile::Mode mode) {
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

double milliseconds(std::chrono::nanoseconds time) { return 1e3 * seconds(time); }

Style heat_of(double share) {
  if (share >= 30) return Style::kHot;
  if (share >= 5) return Style::kWarm;
  return share < 1 ? Style::kFaint : Style::kPlain;
}

TerminalPage& put_title(TerminalPage& page, const profile::Process& process) {
  return page.put(process.command_name, Style::kHeading)
      .put(fmt::format(" (pid {}): ", process.pid.value));
}

void put_rest(TerminalPage& page, std::size_t width, std::size_t count) {
  if (count > 0) page.line(fmt::format("{:>{}}{} more", "", width, count), Style::kFaint);
}

std::uint64_t total_of(const profile::Process& process, const char* counter) {
  const auto found = process.totals.find(counter);
  return found == process.totals.end() ? 0 : found->second;
}

struct ProcessSums {
  std::uint64_t samples = 0;
  std::chrono::nanoseconds cpu{0};
};

std::vector<ProcessSums> sums_by_process(const profile::Recording& recording) {
  std::vector<ProcessSums> sums(recording.processes.size());
  for (const profile::Sample& sample : recording.samples) {
    ProcessSums& sum = sums[recording.threads[sample.thread].process];
    sum.samples += sample.ticks;
    sum.cpu += sample.cpu;
  }
  return sums;
}

// A process that was killed in its first second left samples but no totals.
void put_process_without_totals(TerminalPage& page, const profile::Process& process,
                                const ProcessSums& sums) {
  put_title(page, process)
      .put(fmt::format("{:.2f} s, one tick every {:g} ms{}, cut off before its first totals",
                       seconds(process.duration), milliseconds(process.interval),
                       describe(process.mode)))
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
                       milliseconds(process.interval), describe(process.mode),
                       process.complete ? "" : ", cut off"))
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

// A build has hundreds of processes of three lines each: those with most samples are shown, in the
// order of the recording, and the sums of the rest.
void put_processes(TerminalPage& page, const profile::Recording& recording,
                   const ReportOptions& options) {
  const std::vector<ProcessSums> sums = sums_by_process(recording);
  std::vector<std::uint32_t> order(sums.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return sums[left].samples > sums[right].samples;
  });
  const std::size_t count = std::min(order.size(), std::max<std::size_t>(options.row_count / 4, 1));
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
  ProcessSums rest;
  std::uint64_t dropped = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const profile::Process& process = recording.processes[order[place]];
    const ProcessSums& own = sums[order[place]];
    if (place < count) {
      put_process(page, process, own);
      continue;
    }
    rest.samples += own.samples;
    rest.cpu += own.cpu;
    dropped += total_of(process, "samples_dropped");
  }
  if (count == order.size()) return;
  page.put(fmt::format("{} more process{}: samples {}, ", order.size() - count,
                       order.size() - count == 1 ? "" : "es", rest.samples))
      .put(fmt::format("dropped {}", dropped), dropped == 0 ? Style::kPlain : Style::kHot)
      .put(fmt::format(", CPU time {:.3f} s", seconds(rest.cpu)))
      .end_line();
}

void put_functions(TerminalPage& page, const profile::TopFunctions& top,
                   const ReportOptions& options) {
  page.line(fmt::format("{:>8} {:>8}  function (by {})", "self", "total", describe(options.weight)),
            Style::kHeading);
  const std::size_t count = std::min(options.row_count, top.functions.size());
  for (std::size_t index = 0; index < count; ++index) {
    const profile::TopFunction& function = top.functions[index];
    const double self = percent(function.self, top.total);
    const double total = percent(function.total, top.total);
    page.put(fmt::format("{:6.1f} %", self), heat_of(self))
        .put(fmt::format(" {:6.1f} %", total), heat_of(total))
        .put("  ")
        .put(function.function)
        .end_line();
  }
  put_rest(page, 19, top.functions.size() - count);
}

// Draws what leads from each node to its children. A call that takes (nearly) all of its caller's
// time stays in the caller's column: deep stacks fit the width, and branches are easy to see.
class Branches {
 public:
  Branches(const profile::HotPaths& paths, std::size_t max_width)
      : nodes_(paths.nodes), rest_(nodes_.size()), max_width_(max_width) {
    std::vector<std::size_t> open;  // by depth
    for (std::size_t index = 0; index < nodes_.size(); ++index) {
      open.resize(nodes_[index].depth);
      parents_.push_back(open.empty() ? kNoParent : open.back());
      if (!open.empty()) ++rest_[open.back()];
      open.push_back(index);
    }
  }

  // For one node after the other: what stands before its name.
  std::string before(std::size_t index) {
    const std::size_t parent = parents_[index];
    if (parent == kNoParent) {
      below_.push_back({"  ", 2});
      return {};
    }
    const Indent above = below_[parent];
    const bool continues = nodes_[index].total >= nodes_[parent].total / 100 * 97;
    const bool is_last = --rest_[parent] == 0;
    if (continues || above.width >= max_width_) {
      below_.push_back(above);
      return above.text;
    }
    below_.push_back({above.text + (is_last ? "   " : "│  "), above.width + 3});
    return above.text + (is_last ? "└─ " : "├─ ");
  }

 private:
  static constexpr std::size_t kNoParent = ~std::size_t{0};
  struct Indent {
    std::string text;
    std::size_t width;
  };

  const std::vector<profile::PathNode>& nodes_;
  std::vector<std::size_t> parents_;
  std::vector<std::size_t> rest_;  // children that are not drawn yet
  std::vector<Indent> below_;      // before the children of each node
  std::size_t max_width_;
};

void put_paths(TerminalPage& page, const profile::HotPaths& paths, std::uint64_t whole,
               const ReportOptions& options) {
  page.line(fmt::format("{:>8}  hottest paths (by {})", "total", describe(options.weight)),
            Style::kHeading);
  Branches branches(paths, std::max<std::size_t>(page.columns(), 80) / 2);
  std::string last_share;
  for (std::size_t index = 0; index < paths.nodes.size(); ++index) {
    const profile::PathNode& node = paths.nodes[index];
    const double share = percent(node.total, whole);
    const std::string text = fmt::format("{:6.1f} %", share);
    page.put(text, text == last_share ? Style::kFaint : heat_of(share))
        .put("  ")
        .put(branches.before(index), Style::kFaint)
        .put(node.function, percent(node.self, whole) >= 5 ? Style::kHeading : Style::kPlain)
        .end_line();
    last_share = text;
  }
  put_rest(page, 10, paths.left_out);
}

void put_threads(TerminalPage& page, const profile::Recording& recording,
                 const ReportOptions& options) {
  const auto threads = profile::thread_times(recording);
  page.line(fmt::format("{:>10} {:>10} {:>10} {:>9} {:>8}  {}", "CPU s", "run queue", "blocked s",
                        "samples", "tid", "thread"),
            Style::kHeading);
  const auto put_time = [&page](std::chrono::nanoseconds time, Style style) {
    page.put(fmt::format("{:10.3f} ", seconds(time)), time.count() == 0 ? Style::kFaint : style);
  };
  const std::size_t count = std::min(options.row_count, threads.size());
  for (std::size_t index = 0; index < count; ++index) {
    const profile::ThreadTimes& times = threads[index];
    const profile::Thread& thread = recording.threads[times.thread];
    put_time(times.cpu, Style::kRunning);
    put_time(times.runqueue, Style::kRunnable);
    put_time(times.blocked, Style::kBlocked);
    page.put(fmt::format("{:9} {:8}  ", times.samples, thread.tid.value))
        .put(thread_name(thread))
        .end_line();
  }
  put_rest(page, 53, threads.size() - count);
}

void put_waits(TerminalPage& page, const profile::Recording& recording,
               const ReportOptions& options) {
  const auto waits = profile::wait_times(recording);
  if (waits.empty()) return;
  page.line("");
  page.line(fmt::format("{:>10} {:>9} {:>8}  {}", "blocked s", "samples", "threads",
                        "what blocked threads wait in"),
            Style::kHeading);
  const std::size_t count = std::min(options.row_count, waits.size());
  for (std::size_t index = 0; index < count; ++index) {
    const profile::WaitTimes& times = waits[index];
    page.put(fmt::format("{:10.3f}", seconds(times.blocked)), Style::kBlocked)
        .put(fmt::format(" {:9} {:8}  {}", times.samples, times.threads,
                         syscall_text(times.syscall)))
        .put(times.channel.empty() ? "" : fmt::format(" ({})", times.channel))
        .end_line();
  }
  put_rest(page, 31, waits.size() - count);
}

}  // namespace

host::Result<void> write_report_text(const profile::Recording& recording,
                                     const profile::Names& names, const ReportOptions& options,
                                     Sink& sink) {
  TerminalPage page(options.columns, options.coloured);
  put_processes(page, recording, options);
  page.line("");
  const auto top = profile::top_functions(recording, names, options.weight);
  put_functions(page, top, options);
  page.line("");
  // One path takes many lines: with fewer only the very hottest would be seen.
  const auto paths = report_paths(recording, names, options, 2 * options.row_count);
  put_paths(page, paths, top.total, options);
  page.line("");
  put_threads(page, recording, options);
  put_waits(page, recording, options);
  sink.write(page.text());
  return sink.flush();
}

}  // namespace swipr::exporters
