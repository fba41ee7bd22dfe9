// Turns the samples of a followed process into rows of a history, as soon as their stacks have
// names, and the traced calls that they are in have ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cli/commands/live/followed_process.h"
#include "cli/live/credits.h"
#include "cli/live/history.h"
#include "cli/profile/group/stack_tree.h"
#include "cli/profile/recording/recording.h"

namespace swipr::commands {

class HistoryWriter {
 public:
  // Lifetime: both outlive this object.
  HistoryWriter(live::History& history, FollowedProcess& process);

  void add(std::vector<profile::Sample>& samples);
  // Commits what is complete; with `is_end` all, as nothing that could complete it will follow.
  void flush(bool is_end);
  // Before and after FollowedProcess::restart(): what has been added is committed.
  void end_stream() { flush(true); }
  void begin_stream();

 private:
  // Of a thread and a stack of the recording, and of a call set of it.
  struct Pending {
    live::HistoryRow row;
    std::chrono::nanoseconds time;  // of the sample
  };
  void forget_tree();
  void add_part(const profile::Sample& part, std::int64_t second, bool is_last);
  bool has_names(std::uint32_t stack);
  bool knows_calls(const Pending& pending) const;
  std::uint32_t call_set_of(const Pending& pending);
  live::HistoryRow complete(const Pending& pending);
  std::uint32_t node_of(const live::HistoryRow& row);
  std::uint32_t wait_of(const live::HistoryRow& row, Pid pid);
  std::uint32_t function_of(std::uint32_t place);

  live::History& history_;
  FollowedProcess& process_;
  std::optional<std::chrono::nanoseconds> begin_;  // of the first sample
  std::chrono::nanoseconds now_{0};
  std::vector<Pending> pending_;

  // Of the current stream.
  live::Credits credits_;
  const profile::Names* names_ = nullptr;
  std::unique_ptr<profile::StackTree> tree_;
  std::vector<std::uint32_t> nodes_;                 // of the history, by node of the tree
  std::vector<std::uint32_t> functions_;             // of the history, by place of the tree
  std::vector<bool> has_names_;                      // by stack
  std::vector<std::optional<std::uint32_t>> waits_;  // of the history, by stack
};

}  // namespace swipr::commands
