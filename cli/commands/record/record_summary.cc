#include "cli/commands/record/record_summary.h"

#include <fmt/format.h>

#include "cli/commands/output/terminal.h"

namespace swipr::commands {

std::string format_summary(const session::SessionTotals& totals, std::uint64_t raw_bytes) {
  std::string text = fmt::format(
      "{} asked, {} delivered, {} missed; {} of {}", counted(totals.ticks_asked, "tick"),
      with_thousands(totals.ticks), with_thousands(totals.ticks_missed),
      counted(totals.samples, "sample"), counted(totals.threads, "thread"));
  if (totals.processes > 1)
    text += fmt::format(" in {} processes", with_thousands(totals.processes));
  text += fmt::format(", {} dropped", with_thousands(totals.dropped));
  if (totals.stacks_walked != 0) {
    text += fmt::format("; {:.1f} % of stacks complete",
                        100.0 * static_cast<double>(totals.stacks_rooted) /
                            static_cast<double>(totals.stacks_walked));
  }
  if (totals.stacks_missing != 0) {
    text += fmt::format(", {} without a stack", counted(totals.stacks_missing, "sample"));
  }
  if (totals.ticks_stretched != 0) {
    text += fmt::format("; threads that had hardly run were skipped in {} (overhead limit)",
                        counted(totals.ticks_stretched, "tick"));
  }
  if (totals.samples == 0) text += "; nothing was recorded";
  text += "; " + counted(raw_bytes, "byte");
  if (totals.samples != 0) {
    text += fmt::format(" ({:.1f} per sample)",
                        static_cast<double>(raw_bytes) / static_cast<double>(totals.samples));
  }
  return text;
}

std::string format_next_command(std::string_view raw_name) {
  return fmt::format("swipr report {}", shell_quoted(raw_name));
}

}  // namespace swipr::commands
