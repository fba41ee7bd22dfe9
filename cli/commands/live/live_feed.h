// What is told to a page that follows a process: events of JSON for cli/export/web/live.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/live/call_history.h"
#include "cli/live/history.h"

namespace swipr::commands {

// What is known of the process besides its history.
struct LiveState {
  std::string title;  // "redis-server 4711"
  std::chrono::nanoseconds interval{0};
  std::uint64_t dropped = 0;
  bool has_ended = false;
  std::string deadlocks = "[]";              // as LiveDeadlocks describes them
  const live::CallHistory* calls = nullptr;  // nullptr: no function is traced
  std::uint64_t version = 0;                 // changes with each commit of the history
};

// One page's place in the history. The next event is made when the page has received the one
// before, so that a slow page costs no memory. A page for which rows have been forgotten begins
// anew.
class LiveFeed {
 public:
  // Lifetime: both outlive the feed.
  LiveFeed(const live::History& history, const LiveState& state)
      : history_(history), state_(state) {}

  // One line of JSON, about 4 MiB at most; empty: there is nothing new.
  std::string next();

 private:
  bool write_functions(std::string& out);
  bool write_nodes(std::string& out);
  void write_modules(std::string& out);
  void write_threads(std::string& out);
  void write_waits(std::string& out);
  void write_call_sets(std::string& out);
  void write_rows(std::string& out);
  bool write_calls(std::string& out);

  const live::History& history_;
  const LiveState& state_;
  std::uint64_t version_ = 0;
  std::size_t modules_ = 0;
  std::size_t functions_ = 0;
  std::size_t nodes_ = 0;
  std::size_t waits_ = 0;
  std::size_t call_sets_ = 0;
  std::uint64_t names_ = 0;
  std::uint64_t row_ = 0;
  std::uint64_t call_row_ = 0;
  std::uint64_t call_changes_ = 0;
  bool has_rows_ = false;
  bool is_behind_ = false;  // there is more than one event could take
};

}  // namespace swipr::commands
