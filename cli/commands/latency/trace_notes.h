// What a command that traces functions says on stderr.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/latency/function_finder.h"
#include "cli/trace/latency_records.h"

namespace swipr::commands {

class TraceNotes {
 public:
  explicit TraceNotes(const FoundFunctions& found);
  ~TraceNotes() { clear_progress(); }
  TraceNotes(const TraceNotes&) = delete;
  TraceNotes& operator=(const TraceNotes&) = delete;

  void add(std::string text);
  // What has happened to functions since the last call.
  void tell_changes(const tracing::LatencyRecords& records);
  // At the end of the stream.
  void tell_losses(const tracing::LatencyRecords& records);
  // One line, on a terminal only.
  void show_progress(std::string text);
  void clear_progress();

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> names_;
  std::vector<tracing::Probe::State> states_;
  std::vector<std::string> texts_;
  std::string progress_;
};

}  // namespace swipr::commands
