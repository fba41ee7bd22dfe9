#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/export/report/report.h"
#include "cli/export/report/report_cycles.h"
#include "cli/export/report/report_labels.h"
#include "cli/export/report/report_paths.h"
#include "cli/export/report/report_processes.h"
#include "cli/export/report/report_split.h"
#include "cli/export/report/terminal_page.h"
#include "cli/export/text/text.h"
#include "cli/profile/tables/lock_waits.h"
#include "cli/profile/tables/machine_work.h"
#include "cli/profile/tables/task_waits.h"
#include "cli/profile/tables/thread_times.h"
#include "cli/profile/tables/top_functions.h"
#include "cli/profile/tables/wait_times.h"

namespace swipr::exporters {

namespace {

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

// Functions of languages stand out from native ones.
Style style_of(Language language, Style of_native) {
  return language == Language::kNative ? of_native : Style::kLanguage;
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
        .put(function.function, style_of(function.language, Style::kPlain))
        .end_line();
  }
  put_rest(page, 19, top.functions.size() - count);
}

// Draws the branches of the tree. A call that takes nearly all of its caller's time stays in the
// column of the caller, so that deep stacks fit the width and branches stand out.
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

  // Returns the prefix of a node. Call once per node, in order.
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
  std::vector<std::size_t> rest_;  // children not yet drawn
  std::vector<Indent> below_;      // prefix of the children of each node
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
        .put(node.function, style_of(node.language, percent(node.self, whole) >= 5 ? Style::kHeading
                                                                                   : Style::kPlain))
        .put(node.levels > 1 ? fmt::format("  (recursive, {} levels)", node.levels) : "",
             Style::kFaint)
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

// A thread that waits for a CPU is sampled where it lost its CPU, often in the clock interrupt.
void put_cpu_waits(TerminalPage& page, const profile::Recording& recording) {
  constexpr std::chrono::milliseconds kWorthALine{100};
  constexpr int kWorthAnNth = 5;
  std::chrono::nanoseconds waited{0};
  std::chrono::nanoseconds ran{0};
  for (const profile::Sample& sample : recording.samples) {
    waited += sample.runqueue;
    ran += sample.cpu;
  }
  if (waited < kWorthALine || waited * kWorthAnNth < waited + ran) return;
  page.line("");
  page.line(fmt::format("threads waited {:.3f} s for a CPU, {:.1f} % of the time in which they ran "
                        "or waited for one:",
                        seconds(waited), 100 * seconds(waited) / seconds(waited + ran)),
            Style::kHeading);
  page.line("shares of loops in step with the kernel's clock interrupt may be shifted");
}

void put_waits(TerminalPage& page, const profile::Recording& recording,
               const ReportOptions& options) {
  const auto waits = profile::wait_times(recording);
  if (waits.empty()) return;
  page.line("");
  page.line(fmt::format("{:>10} {:>9} {:>8}  {}", "blocked s", "samples", "threads",
                        "waits of blocked threads"),
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

void put_tasks(TerminalPage& page, const profile::Recording& recording, const profile::Names& names,
               const ReportOptions& options) {
  const auto waits = profile::task_waits(recording, names);
  if (waits.empty()) return;
  page.line("");
  page.line(fmt::format("{:>10} {:>9} {:>8}  {}", "waited s", "samples", "tasks",
                        "where tasks of asyncio waited"),
            Style::kHeading);
  const std::size_t count = std::min(options.row_count, waits.size());
  for (const profile::TaskWaits& each : std::span(waits).first(count)) {
    page.put(fmt::format("{:10.3f}", seconds(each.waited)), Style::kBlocked)
        .put(fmt::format(" {:9} {:8}  ", each.samples, each.tasks))
        .put(each.chain, Style::kLanguage)
        .end_line();
  }
  put_rest(page, 31, waits.size() - count);
}

void put_collector(TerminalPage& page, const profile::Recording& recording,
                   const profile::Names& names, std::uint64_t whole, const ReportOptions& options) {
  const std::uint64_t weight = profile::collector_weight(recording, names, options.weight);
  if (weight == 0) return;
  page.line("");
  page.line(fmt::format("garbage collection: {:.1f} % of {}", percent(weight, whole),
                        describe(options.weight)),
            Style::kHeading);
}

// Of the time in which threads ran or waited for such a lock, how long they waited, and for whom.
// `kind` of the C library's: "mutex"; else empty.
void put_locks(TerminalPage& page, const profile::LockWaits& waits, std::string_view lock,
               const ReportOptions& options, std::string_view kind = {}) {
  if (waits.waited.count() == 0) return;
  const auto share = [](std::chrono::nanoseconds part, std::chrono::nanoseconds whole) {
    return 100 * seconds(part) / seconds(whole);
  };
  page.line("");
  page.line(
      fmt::format("threads waited {:.3f} s for {}, {:.1f} % of the time in which they ran or "
                  "waited for {}",
                  seconds(waits.waited), lock, share(waits.waited, waits.waited + waits.running),
                  lock.starts_with("the ") ? "it" : "them"),
      Style::kHeading);
  const std::size_t count = std::min(options.row_count, waits.holders.size());
  for (std::size_t index = 0; index < count; ++index) {
    const profile::LockHolder& holder = waits.holders[index];
    page.put(fmt::format("{:6.1f} %", share(holder.waited, waits.waited)), Style::kBlocked)
        .put(kind.empty() ? clean_text(holder.lock.empty() ? "" : "  " + holder.lock)
                          : "  " + clean_text(profile::lock_text(kind, holder.locks, holder.lock)))
        .put(holder.function.empty() ? "  holder not known"
                                     : fmt::format("  while {} held it", holder.function))
        .end_line();
  }
  put_rest(page, 10, waits.holders.size() - count);
}

std::string_view machine_name(Language language) {
  switch (language) {
    case Language::kJava:
      return "Java";
    case Language::kJavaScript:
      return "JavaScript";
    case Language::kPhp:
      return "PHP";
    case Language::kPerl:
      return "Perl";
    default:
      return {};  // its collector is known only, and has its own line
  }
}

// What the language's virtual machine used for itself.
void put_machines(TerminalPage& page, const profile::Recording& recording,
                  const profile::Names& names) {
  for (const profile::MachineTimes& times : profile::machine_times(recording, names)) {
    const std::string_view name = machine_name(times.language);
    if (name.empty()) continue;
    const auto share = [&times](std::chrono::nanoseconds part) {
      return 100 * seconds(part) / seconds(times.all);
    };
    page.line("");
    page.line(fmt::format("{} used {:.3f} s of CPU time: {:.1f} % for garbage collection, {:.1f} % "
                          "for compilers{}",
                          name, seconds(times.all), share(times.collectors), share(times.compilers),
                          times.machine.count() == 0
                              ? ""
                              : fmt::format(", {:.1f} % for the rest of the virtual machine",
                                            share(times.machine))),
              Style::kHeading);
  }
}

}  // namespace

host::Result<void> write_report_text(const profile::Recording& recording,
                                     const profile::Names& names, const ReportOptions& options,
                                     Sink& sink) {
  TerminalPage page(options.columns, options.coloured);
  put_processes(page, recording, options);
  if (!profile::has_samples(recording)) {
    sink.write(page.text());
    return sink.flush();
  }
  page.line("");
  put_cycles(page, recording, names);
  if (options.split != nullptr) put_split(page, *options.split, options);
  const auto top = profile::top_functions(recording, names, options.weight);
  put_functions(page, top, options);
  page.line("");
  // One path takes many lines; with fewer lines only the hottest path would fit.
  const auto paths = report_paths(recording, names, options, 2 * options.row_count);
  put_paths(page, paths, top.total, options);
  page.line("");
  put_threads(page, recording, options);
  put_labels(page, recording, options);
  put_cpu_waits(page, recording);
  put_waits(page, recording, options);
  put_tasks(page, recording, names, options);
  put_collector(page, recording, names, top.total, options);
  put_locks(page, profile::lock_waits(recording, names, RuntimeWait::kGil),
            fmt::format("the {}", profile::interpreter_lock(recording)), options);
  put_locks(page, profile::lock_waits(recording, names, RuntimeWait::kMonitor), "monitors",
            options);
  put_locks(page, profile::lock_waits(recording, names, RuntimeWait::kMutex), "mutexes", options,
            "mutex");
  put_locks(page, profile::lock_waits(recording, names, RuntimeWait::kRwlock),
            "writers of read-write locks", options, "rwlock");
  put_machines(page, recording, names);
  sink.write(page.text());
  return sink.flush();
}

}  // namespace swipr::exporters
