#include "cli/export/report/report_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/export/report/report_processes.h"
#include "cli/export/text/text.h"
#include "cli/profile/tables/label_times.h"

namespace swipr::exporters {

namespace {

using Values = std::span<const profile::LabelTimes>;

void put_times(TerminalPage& page, const profile::LabelTimes& times,
               std::chrono::nanoseconds whole) {
  const auto put_time = [&page](std::chrono::nanoseconds time, Style style) {
    page.put(fmt::format("{:10.3f} ", seconds(time)), time.count() == 0 ? Style::kFaint : style);
  };
  put_time(times.cpu, Style::kRunning);
  put_time(times.runqueue, Style::kRunnable);
  put_time(times.blocked, Style::kBlocked);
  const double share = whole.count() == 0 ? 0 : 100 * seconds(times.cpu) / seconds(whole);
  page.put(fmt::format("{:9} {:6.1f} %  ", times.samples, share));
  if (times.value.empty()) page.put("(none)", Style::kFaint);
  page.put(clean_text(times.value)).end_line();
}

void put_key(TerminalPage& page, Values values, const ReportOptions& options) {
  page.line("");
  page.line(fmt::format("{:>10} {:>10} {:>10} {:>9} {:>8}  label {}", "CPU s", "run queue",
                        "blocked s", "samples", "of CPU", clean_text(values.front().key)),
            Style::kHeading);
  std::chrono::nanoseconds whole{0};
  for (const profile::LabelTimes& times : values) whole += times.cpu;
  const std::size_t count = std::min(options.row_count, values.size());
  for (const profile::LabelTimes& times : values.first(count)) put_times(page, times, whole);
  put_rest(page, 53, values.size() - count);
}

}  // namespace

void put_labels(TerminalPage& page, const profile::Recording& recording,
                const ReportOptions& options) {
  const auto times = profile::label_times(recording);
  for (std::size_t begin = 0; begin < times.size();) {
    std::size_t end = begin;
    while (end < times.size() && times[end].key == times[begin].key) ++end;
    put_key(page, Values(times).subspan(begin, end - begin), options);
    begin = end;
  }
}

}  // namespace swipr::exporters
