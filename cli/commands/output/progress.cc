#include "cli/commands/output/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/commands/output/terminal.h"
#include "common/host/text/duration.h"

namespace swipr::commands {

namespace {

constexpr std::size_t kBarColumns = 24;

std::string bar(double done) {
  const auto filled =
      static_cast<std::size_t>(std::clamp(done, 0.0, 1.0) * static_cast<double>(kBarColumns));
  return fmt::format("[{}{}] {:3.0f} %", std::string(filled, '#'),
                     std::string(kBarColumns - filled, '.'), 100 * done);
}

}  // namespace

std::string format_progress(const session::SessionProgress& progress, std::size_t columns) {
  const session::SessionTotals& totals = progress.totals;
  std::vector<std::string> parts;
  parts.push_back(
      progress.done >= 0
          ? bar(progress.done)
          : host::format_duration(std::chrono::floor<std::chrono::milliseconds>(progress.elapsed)));
  parts.push_back(counted(totals.ticks, "tick"));
  parts.push_back(counted(totals.samples, "sample"));
  parts.push_back(counted(totals.threads, "thread"));
  parts.push_back(with_thousands(totals.dropped) + " dropped");
  if (totals.processes > 1) parts.push_back(with_thousands(totals.processes) + " processes");
  std::string line;
  for (const std::string& part : parts) {
    const std::size_t wanted = line.size() + (line.empty() ? 0 : 2) + part.size();
    if (wanted > columns) break;
    line += (line.empty() ? "" : "  ") + part;
  }
  return line;
}

void ProgressLine::show(const session::SessionProgress& progress) {
  const std::size_t columns = terminal_columns(STDERR_FILENO);
  if (columns < 2) return;
  // The last column stays free, because some terminals wrap after it.
  const std::string line = format_progress(progress, columns - 1);
  const std::size_t blanks = shown_columns_ > line.size() ? shown_columns_ - line.size() : 0;
  write_stderr(fmt::format("\r{}{}", line, std::string(blanks, ' ')));
  std::fflush(stderr);
  shown_columns_ = line.size();
}

void ProgressLine::clear() {
  if (shown_columns_ == 0) return;
  write_stderr(fmt::format("\r{}\r", std::string(shown_columns_, ' ')));
  std::fflush(stderr);
  shown_columns_ = 0;
}

session::SessionResult run_session(session::RecordSession& session, session::SignalWatch& signals,
                                   bool shows_progress) {
  ProgressLine line;
  if (shows_progress && terminal_columns(STDERR_FILENO) != 0) {
    session.set_progress(
        [&line](const session::SessionProgress& progress) { line.show(progress); });
  }
  session::SessionResult result = session.run();
  line.clear();
  signals.stop();
  return result;
}

}  // namespace swipr::commands
