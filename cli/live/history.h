// The last minutes of a recording that goes on, for pages that follow it: tables that only grow,
// and rows that are only added at the end. What a page has not been told is what is behind its
// place. Pure.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/profile/recording/recording.h"
#include "common/core/ids.h"
#include "common/core/runtime_frame.h"

namespace swipr::live {

struct Function {
  std::string name{};
  std::uint32_t module = profile::kNone;  // a module of the history
  std::string file{};
  std::uint32_t line = 0;  // where it begins; 0: unknown
  Language language = Language::kNative;
  bool is_code = true;
};

// A traced call that samples were taken in. Shape: as LiveFeed tells it.
struct SampledCall {
  std::uint32_t function = 0;  // in CallHistory::functions()
  std::uint32_t bucket = 0;    // of its duration (common/core/duration_buckets.h), or until then
  bool is_open = false;        // it had not returned
  friend auto operator<=>(const SampledCall&, const SampledCall&) = default;
};
using CallSet = std::vector<SampledCall>;

// What a thread did in one second in one stack and state.
struct HistoryRow {
  std::uint32_t second = 0;  // since the recording began
  std::uint32_t thread = 0;
  std::uint32_t node = 0;
  std::uint32_t wait = profile::kNone;   // a wait of the history
  std::uint32_t calls = profile::kNone;  // a call set of the history; kNone: in no traced call
  std::uint32_t ticks = 0;
  std::uint64_t cpu_us = 0;
  std::uint64_t runqueue_us = 0;
  std::uint64_t wall_us = 0;
  std::uint8_t bin = 0;  // the part of the second in which it was found running; kNoBin: all of it
  profile::State state = profile::State::kUnknown;
};

class History {
 public:
  static constexpr std::uint32_t kBins = 50;  // of a second
  static constexpr std::uint8_t kNoBin = 255;
  // Bounds of the memory: about 150 MB.
  static constexpr std::uint32_t kSeconds = 600;
  static constexpr std::size_t kMaxRows = 2'000'000;
  static constexpr std::size_t kMaxRowsPerCommit = 20'000;
  static constexpr std::size_t kMaxOlder = 100'000;
  static constexpr std::size_t kMaxFunctions = 200'000;
  static constexpr std::size_t kMaxNodes = 400'000;
  static constexpr std::size_t kMaxThreads = 20'000;
  static constexpr std::size_t kMaxWaits = 10'000;
  static constexpr std::size_t kMaxCallSets = 100'000;

  struct Node {
    std::uint32_t parent = profile::kNone;
    std::uint32_t function = 0;
  };
  struct Module {
    std::string path;
    bool is_own = false;  // the program itself
  };
  struct Thread {
    Tid tid;
    std::string name{};
    std::uint64_t named_at = 0;  // the number of the change of names
  };
  struct Wait {
    std::string lock;                      // "mutex in enter_lock"
    std::uint32_t owner = profile::kNone;  // a thread; kNone: not known
  };

  // The entry of a table, which is made if there is none. What exceeds a table gets a common entry:
  // the function "[other]", the caller's node, the thread "others", no wait, fewer calls.
  std::uint32_t module(std::string_view path, bool is_own);
  std::uint32_t function(const Function& function);
  std::uint32_t child(std::uint32_t parent, std::uint32_t function);
  std::uint32_t thread(Pid pid, Tid tid, std::string_view name);
  std::uint32_t wait(std::string_view lock, std::uint32_t owner);
  // Not empty: the innermost call first.
  std::uint32_t call_set(CallSet calls);

  // Equal rows are added up until the next commit.
  void add(const HistoryRow& row);
  // Counts samples that could not be added.
  void leave_out(std::uint64_t samples) { left_out_ += samples; }
  // `now_ns`: the time of the newest sample since the beginning. Forgets what is older than
  // kSeconds, and the oldest beyond kMaxRows: only its sums are kept.
  void commit(std::uint64_t now_ns);

  const std::vector<Module>& modules() const { return modules_; }
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Node>& nodes() const { return nodes_; }  // parents before their children
  const std::vector<Thread>& threads() const { return threads_; }
  const std::vector<Wait>& waits() const { return waits_; }
  const std::vector<CallSet>& call_sets() const { return call_sets_; }
  std::uint64_t name_changes() const { return name_changes_; }
  // Rows are numbered from 0; those from first_row() to end_row() are kept.
  std::uint64_t first_row() const { return first_row_; }
  std::uint64_t end_row() const { return first_row_ + rows_.size(); }
  const HistoryRow& row(std::uint64_t number) const { return rows_[number - first_row_]; }
  // Sums of all rows before first_row(), without seconds.
  std::vector<HistoryRow> older() const;
  std::uint64_t now_ns() const { return now_ns_; }
  // Samples that exceeded a bound.
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct Key {
    std::uint64_t thread_and_node;
    std::uint64_t rest;  // second, bin, state, wait
    std::uint32_t calls;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  using Sums = std::unordered_map<Key, HistoryRow, KeyHash>;

  static Key key_of(const HistoryRow& row);
  void add_to(Sums& sums, std::size_t most, const HistoryRow& row);
  void forget();

  std::vector<Module> modules_;
  std::vector<Function> functions_;
  std::vector<Node> nodes_;
  std::vector<Thread> threads_;
  std::vector<Wait> waits_;
  std::vector<CallSet> call_sets_;
  std::map<std::string, std::uint32_t, std::less<>> module_index_;
  std::unordered_map<std::string, std::uint32_t> function_index_;
  std::unordered_map<std::uint64_t, std::uint32_t> node_index_;  // by parent and function
  std::map<std::pair<Pid, Tid>, std::uint32_t> thread_index_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> wait_index_;
  std::map<CallSet, std::uint32_t> call_set_index_;
  std::uint64_t name_changes_ = 0;
  std::deque<HistoryRow> rows_;
  std::uint64_t first_row_ = 0;
  Sums pending_;
  Sums older_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace swipr::live
