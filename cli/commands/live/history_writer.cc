#include "cli/commands/live/history_writer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cli/export/text/text.h"
#include "cli/live/seconds.h"
#include "cli/profile/tables/lock_waits.h"
#include "common/core/duration_buckets.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using live::History;
using live::HistoryRow;
using profile::kNone;
using profile::State;
using std::chrono::nanoseconds;

constexpr nanoseconds kBin = nanoseconds(1s) / History::kBins;
// Names take seconds the first time, while 20,000 rows a second may arrive.
constexpr std::size_t kMaxPending = 500'000;
// Samples in calls that last longer are shown before these end.
constexpr auto kCallPatience = 1s;
// About 30 MB. Stacks that are seen again are added again.
constexpr std::size_t kMaxTreeNodes = 500'000;

std::uint64_t microseconds(nanoseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count() + 500, 0) / 1'000);
}

}  // namespace

HistoryWriter::HistoryWriter(live::History& history, FollowedProcess& process)
    : history_(history), process_(process) {}

void HistoryWriter::begin_stream() {
  credits_ = {};
  forget_tree();
  has_names_.clear();
  waits_.clear();
}

void HistoryWriter::forget_tree() {
  tree_.reset();
  nodes_.clear();
  functions_.clear();
}

void HistoryWriter::add(std::vector<profile::Sample>& samples) {
  for (profile::Sample& sample : samples) {
    credits_.apply(sample);
    if (!begin_) begin_ = sample.begin();
    if (sample.time <= *begin_) continue;
    now_ = std::max(now_, sample.time - *begin_);
    const auto last = (sample.time - *begin_ - 1ns) / 1s;
    live::divide(sample, *begin_, History::kSeconds,
                 [&](std::int64_t second, const profile::Sample& part) {
                   add_part(part, second, second == last);
                 });
  }
}

void HistoryWriter::add_part(const profile::Sample& part, std::int64_t second, bool is_last) {
  if (pending_.size() >= kMaxPending) return history_.leave_out(part.ticks);
  HistoryRow& row = pending_.emplace_back(Pending{{}, part.time}).row;
  row.second = static_cast<std::uint32_t>(second);
  row.thread = part.thread;
  row.node = part.stack;
  row.calls = part.calls;
  row.state = part.state;
  row.ticks = static_cast<std::uint32_t>(part.ticks);
  row.cpu_us = microseconds(part.cpu);
  row.runqueue_us = microseconds(part.runqueue);
  row.wall_us = microseconds(part.wall);
  // Where in a second longer parts are is not known: CPU time of short bursts is in them.
  const bool is_short = is_last || part.wall <= 2 * kBin;
  row.bin = History::kNoBin;
  if (part.state != State::kRunning || !is_short) return;
  const nanoseconds end = is_last ? (part.time - *begin_ - 1ns) % 1s : nanoseconds(1s) - 1ns;
  row.bin = static_cast<std::uint8_t>(end / kBin);
}

void HistoryWriter::flush(bool is_end) {
  names_ = &process_.names().update(process_.recording(), is_end);
  if (nodes_.size() > kMaxTreeNodes) forget_tree();
  if (!tree_) {
    tree_ = std::make_unique<profile::StackTree>(process_.recording(), *names_,
                                                 profile::StackTree::Detail::kFunction);
  }
  std::erase_if(pending_, [&](const Pending& pending) {
    if (!has_names(pending.row.node) || (!is_end && !knows_calls(pending))) return false;
    history_.add(complete(pending));
    return true;
  });
  history_.commit(static_cast<std::uint64_t>(now_.count()));
}

bool HistoryWriter::has_names(std::uint32_t stack) {
  if (stack == kNone) return true;
  if (stack >= has_names_.size()) has_names_.resize(process_.recording().stacks.size());
  if (has_names_[stack]) return true;
  const std::vector<std::uint32_t>& frames = process_.recording().stacks[stack].frames;
  const bool has = std::all_of(frames.begin(), frames.end(), [this](std::uint32_t frame) {
    return process_.names().is_named(frame);
  });
  has_names_[stack] = has;
  return has;
}

bool HistoryWriter::knows_calls(const Pending& pending) const {
  if (*begin_ + now_ - pending.time > kCallPatience) return true;
  const profile::Recording& recording = process_.recording();
  const auto calls = profile::calls_of(recording, pending.row.calls);
  return std::all_of(calls.begin(), calls.end(), [&recording](std::uint32_t call) {
    return recording.calls[call].duration.has_value();
  });
}

std::uint32_t HistoryWriter::call_set_of(const Pending& pending) {
  const profile::Recording& recording = process_.recording();
  live::CallSet set;
  for (const std::uint32_t number : profile::calls_of(recording, pending.row.calls)) {
    const profile::Call& call = recording.calls[number];
    const nanoseconds lasted = std::max(call.duration.value_or(pending.time - call.begin), 0ns);
    const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(lasted.count()));
    set.push_back({call.function, static_cast<std::uint32_t>(bucket), !call.duration});
  }
  return history_.call_set(std::move(set));
}

HistoryRow HistoryWriter::complete(const Pending& pending) {
  HistoryRow row = pending.row;
  const profile::Recording& recording = process_.recording();
  const profile::Thread& thread = recording.threads[row.thread];
  const Pid pid = recording.processes[thread.process].pid;
  row.calls = call_set_of(pending);
  row.wait = wait_of(row, pid);
  row.node = node_of(row);
  row.thread = history_.thread(pid, thread.tid, exporters::thread_name(thread));
  return row;
}

std::uint32_t HistoryWriter::node_of(const HistoryRow& row) {
  std::uint32_t node = tree_->node_of(row.node);
  const std::string frame = exporters::state_frame(process_.recording(), row.state, row.node);
  if (!frame.empty()) node = tree_->pseudo_child(node, frame);
  while (nodes_.size() < tree_->nodes().size()) {
    const profile::StackTree::Node& added = tree_->nodes()[nodes_.size()];
    const std::uint32_t parent = added.parent == kNone ? kNone : nodes_[added.parent];
    nodes_.push_back(history_.child(parent, function_of(added.place)));
  }
  return nodes_[node];
}

std::uint32_t HistoryWriter::function_of(std::uint32_t place) {
  const profile::Recording& recording = process_.recording();
  while (functions_.size() < tree_->places().size()) {
    const profile::StackTree::Place& added = tree_->places()[functions_.size()];
    live::Function function{.name = added.function, .file = added.file};
    if (added.module != kNone) {
      const profile::Module& module = recording.modules[added.module];
      function.module = history_.module(
          module.path, module.path == recording.processes[module.process].executable);
    }
    function.line = added.start_line;
    function.language = added.language;
    function.is_code = added.is_code;
    functions_.push_back(history_.function(function));
  }
  return functions_[place];
}

std::uint32_t HistoryWriter::wait_of(const HistoryRow& row, Pid pid) {
  if (row.node == kNone || row.state != State::kBlocked) return kNone;
  const profile::Recording& recording = process_.recording();
  if (row.node >= waits_.size()) waits_.resize(recording.stacks.size());
  std::optional<std::uint32_t>& known = waits_[row.node];
  if (known) return *known;
  known = kNone;
  const auto wait = profile::find_lock_wait(recording, *names_, row.node);
  if (!wait) return kNone;
  std::uint32_t owner = kNone;
  for (const profile::Thread& thread : recording.threads) {
    const bool is_holder = thread.tid.value == wait->holder.value && wait->holder.value != 0;
    if (is_holder && recording.processes[thread.process].pid == pid) {
      owner = history_.thread(pid, thread.tid, exporters::thread_name(thread));
    }
  }
  known = history_.wait(wait->lock, owner);
  return *known;
}

}  // namespace swipr::commands
