#include "cli/commands/latency/trace_notes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "cli/commands/output/terminal.h"

namespace swipr::commands {

using tracing::Probe;

TraceNotes::TraceNotes(const FoundFunctions& found)
    : states_(found.functions.size(), Probe::State::kUnanswered) {
  for (const TracedFunction& function : found.functions) names_.push_back(function.name);
  for (const std::string& note : found.notes) add(note);
}

void TraceNotes::add(std::string text) {
  clear_progress();
  print_note(text);
  texts_.push_back(std::move(text));
}

void TraceNotes::tell_changes(const tracing::LatencyRecords& records) {
  for (std::size_t at = 0; at < names_.size(); ++at) {
    const Probe& probe = records.probes()[at];
    if (probe.state == std::exchange(states_[at], probe.state)) continue;
    if (probe.state == Probe::State::kRefused) {
      add(fmt::format("{} is not traced, because {}", names_[at], probe.reason));
    } else if (probe.state == Probe::State::kDetached) {
      add(fmt::format("{} is no longer traced, because {}", names_[at], probe.reason));
    }
  }
}

void TraceNotes::tell_losses(const tracing::LatencyRecords& records) {
  if (!records.has_ended()) add("the process has ended, or closed the connection");
  if (records.damaged() != 0) add("a part of the stream was damaged: calls are missing");
}

void TraceNotes::show_progress(std::string text) {
  if (terminal_columns(STDERR_FILENO) == 0) return;
  clear_progress();
  progress_ = std::move(text);
  write_stderr(progress_);
}

void TraceNotes::clear_progress() {
  if (progress_.empty()) return;
  write_stderr("\r" + std::string(progress_.size(), ' ') + "\r");
  progress_.clear();
}

}  // namespace swipr::commands
