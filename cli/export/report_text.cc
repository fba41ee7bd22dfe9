#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <string_view>

#include "cli/export/report.h"
#include "cli/profile/thread_times.h"
#include "cli/profile/top_functions.h"

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

// Collects lines and cuts those that are too wide for the terminal.
class Page {
 public:
  explicit Page(std::size_t columns) : columns_(columns) {}

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    std::string text = fmt::format(format, std::forward<Args>(args)...);
    if (columns_ != 0 && text.size() > columns_) {
      std::size_t kept = columns_ - 1;
      while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0) == 0x80) --kept;
      text.resize(kept);
      text += "…";
    }
    text_ += text;
    text_ += '\n';
  }
  const std::string& text() const { return text_; }

 private:
  std::size_t columns_;
  std::string text_;
};

std::uint64_t total_of(const profile::Process& process, const char* counter) {
  const auto found = process.totals.find(counter);
  return found == process.totals.end() ? 0 : found->second;
}

// A process that was killed in its first second left samples but no totals.
void put_process_without_totals(Page& page, const profile::Recording& recording,
                                std::uint32_t index) {
  const profile::Process& process = recording.processes[index];
  std::uint64_t samples = 0;
  std::chrono::nanoseconds cpu{0};
  for (const profile::Sample& sample : recording.samples) {
    if (recording.threads[sample.thread].process != index) continue;
    samples += sample.ticks;
    cpu += sample.cpu;
  }
  page.line("{} (pid {}): {:.2f} s, one tick every {:g} ms{}, cut off before its first totals",
            process.command_name, process.pid.value, seconds(process.duration),
            std::chrono::duration<double, std::milli>(process.interval).count(),
            describe(process.mode));
  page.line("  samples {}; CPU time {:.3f} s", samples, seconds(cpu));
}

void put_process(Page& page, const profile::Recording& recording, std::uint32_t index) {
  const profile::Process& process = recording.processes[index];
  if (process.totals.empty()) return put_process_without_totals(page, recording, index);
  const std::uint64_t ticks = total_of(process, "ticks");
  const std::uint64_t walked = total_of(process, "stacks_walked");
  page.line("{} (pid {}): {:.2f} s, {} of {} ticks, one every {:g} ms{}{}", process.command_name,
            process.pid.value, seconds(process.duration), ticks,
            ticks + total_of(process, "ticks_missed"),
            std::chrono::duration<double, std::milli>(process.interval).count(),
            describe(process.mode), process.complete ? "" : ", cut off");
  page.line("  samples {}, dropped {}, without a stack {}; stacks that reach the root {:.1f} %",
            total_of(process, "samples"), total_of(process, "samples_dropped"),
            total_of(process, "stacks_missing"),
            walked == 0 ? 100.0 : percent(total_of(process, "stacks_rooted"), walked));
  page.line("  CPU time {:.3f} s, of it swipr's own {:.3f} s",
            static_cast<double>(total_of(process, "process_cpu_ns")) / 1e9,
            static_cast<double>(total_of(process, "agent_cpu_ns")) / 1e9);
}

void put_functions(Page& page, const profile::TopFunctions& top, const ReportOptions& options) {
  page.line("{:>8} {:>8}  {}", "self", "total",
            fmt::format("function (by {})", describe(options.weight)));
  const std::size_t count = std::min(options.function_count, top.functions.size());
  for (std::size_t index = 0; index < count; ++index) {
    const profile::TopFunction& function = top.functions[index];
    page.line("{:6.1f} % {:6.1f} %  {}", percent(function.self, top.total),
              percent(function.total, top.total), function.function);
  }
  if (count < top.functions.size()) page.line("{:>19}{} more", "", top.functions.size() - count);
}

void put_threads(Page& page, const profile::Recording& recording, const ReportOptions& options) {
  const auto threads = profile::thread_times(recording);
  page.line("{:>10} {:>10} {:>10} {:>9} {:>8}  {}", "CPU s", "run queue", "blocked s", "samples",
            "tid", "thread");
  const std::size_t count = std::min(options.function_count, threads.size());
  for (std::size_t index = 0; index < count; ++index) {
    const profile::ThreadTimes& times = threads[index];
    const profile::Thread& thread = recording.threads[times.thread];
    page.line("{:10.3f} {:10.3f} {:10.3f} {:9} {:8}  {}", seconds(times.cpu),
              seconds(times.runqueue), seconds(times.blocked), times.samples, thread.tid.value,
              thread.name);
  }
  if (count < threads.size()) page.line("{:>53}{} more", "", threads.size() - count);
}

}  // namespace

host::Result<void> write_report_text(const profile::Recording& recording,
                                     const profile::Names& names, const ReportOptions& options,
                                     Sink& sink) {
  Page page(options.columns);
  for (std::uint32_t index = 0; index < recording.processes.size(); ++index) {
    put_process(page, recording, index);
  }
  page.line("");
  put_functions(page, profile::top_functions(recording, names, options.weight), options);
  page.line("");
  put_threads(page, recording, options);
  sink.write(page.text());
  return sink.flush();
}

}  // namespace swipr::exporters
