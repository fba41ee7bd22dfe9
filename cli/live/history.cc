#include "cli/live/history.h"

#include <algorithm>
#include <utility>

namespace swipr::live {

namespace {

using profile::kNone;

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::string_view kOther = "[other]";

void add_up(HistoryRow& row, const HistoryRow& part) {
  row.ticks += part.ticks;
  row.cpu_us += part.cpu_us;
  row.runqueue_us += part.runqueue_us;
  row.wall_us += part.wall_us;
}

}  // namespace

std::uint32_t History::module(std::string_view path, bool is_own) {
  const auto known = module_index_.find(path);
  if (known != module_index_.end()) return known->second;
  if (modules_.size() >= kMaxFunctions) return kNone;
  const auto index = static_cast<std::uint32_t>(modules_.size());
  modules_.push_back({std::string(path), is_own});
  module_index_.emplace(path, index);
  return index;
}

std::uint32_t History::function(const Function& function) {
  std::string key = function.name;  // names are C strings
  key.append(1, '\0').append(std::to_string(function.module)).append(1, '\0').append(function.file);
  const auto known = function_index_.find(key);
  if (known != function_index_.end()) return known->second;
  const bool is_full = functions_.size() >= kMaxFunctions && function.name != kOther;
  if (is_full) return this->function({.name = std::string(kOther), .is_code = false});
  const auto index = static_cast<std::uint32_t>(functions_.size());
  functions_.push_back(function);
  function_index_.emplace(std::move(key), index);
  return index;
}

std::uint32_t History::child(std::uint32_t parent, std::uint32_t function) {
  const std::uint64_t key = (std::uint64_t{parent} << 32) | function;
  const auto known = node_index_.find(key);
  if (known != node_index_.end()) return known->second;
  if (nodes_.size() >= kMaxNodes && parent != kNone) return parent;
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({parent, function});
  node_index_.emplace(key, index);
  return index;
}

std::uint32_t History::thread(Pid pid, Tid tid, std::string_view name) {
  const auto known = thread_index_.find({pid, tid});
  const bool is_full = known == thread_index_.end() && threads_.size() >= kMaxThreads;
  if (is_full && tid.value != 0) return thread(pid, Tid{}, "others");
  const auto index =
      known != thread_index_.end() ? known->second : static_cast<std::uint32_t>(threads_.size());
  if (known == thread_index_.end()) {
    threads_.emplace_back().tid = tid;
    thread_index_.emplace(std::pair(pid, tid), index);
  } else if (threads_[index].name == name) {
    return index;
  }
  threads_[index].name = name;
  threads_[index].named_at = ++name_changes_;
  return index;
}

std::uint32_t History::wait(std::string_view lock, std::uint32_t owner) {
  std::pair key(std::string(lock), owner);
  const auto known = wait_index_.find(key);
  if (known != wait_index_.end()) return known->second;
  if (waits_.size() >= kMaxWaits) return kNone;
  const auto index = static_cast<std::uint32_t>(waits_.size());
  waits_.push_back({key.first, owner});
  wait_index_.emplace(std::move(key), index);
  return index;
}

std::uint32_t History::call_set(CallSet calls) {
  while (!calls.empty()) {
    const auto known = call_set_index_.find(calls);
    if (known != call_set_index_.end()) return known->second;
    if (call_sets_.size() < kMaxCallSets) {
      const auto index = static_cast<std::uint32_t>(call_sets_.size());
      call_sets_.push_back(calls);
      call_set_index_.emplace(std::move(calls), index);
      return index;
    }
    calls.erase(calls.begin());
  }
  return kNone;
}

std::size_t History::KeyHash::operator()(const Key& key) const {
  const std::uint64_t rest = key.rest ^ std::uint64_t{key.calls} << 24;
  const std::uint64_t mixed =
      (key.thread_and_node ^ (rest * 0xff51afd7ed558ccdu)) * 0x9E3779B97F4A7C15u;
  return static_cast<std::size_t>(mixed ^ (mixed >> 29));
}

// kMaxWaits fits in 16 bits; the wait "none" as well.
History::Key History::key_of(const HistoryRow& row) {
  static_assert(kMaxWaits < 0xffff);
  return {std::uint64_t{row.thread} << 32 | row.node,
          std::uint64_t{row.second} << 32 | std::uint64_t{row.wait & 0xffff} << 16 |
              std::uint64_t{row.bin} << 8 | static_cast<std::uint64_t>(row.state),
          row.calls};
}

void History::add_to(Sums& sums, std::size_t most, const HistoryRow& row) {
  const Key key = key_of(row);
  const auto known = sums.find(key);
  if (known != sums.end()) return add_up(known->second, row);
  if (sums.size() < most) {
    sums.emplace(key, row);
  } else {
    left_out_ += row.ticks;
  }
}

void History::add(const HistoryRow& row) { add_to(pending_, kMaxRowsPerCommit, row); }

void History::commit(std::uint64_t now_ns) {
  now_ns_ = std::max(now_ns_, now_ns);
  for (const auto& [key, row] : pending_) rows_.push_back(row);
  pending_.clear();
  forget();
}

void History::forget() {
  const std::uint64_t now = now_ns_ / kNanosecondsPerSecond;
  const std::uint64_t oldest = now > kSeconds ? now - kSeconds : 0;
  while (!rows_.empty() && (rows_.size() > kMaxRows || rows_.front().second < oldest)) {
    HistoryRow row = rows_.front();
    row.second = 0;
    row.bin = kNoBin;
    add_to(older_, kMaxOlder, row);
    rows_.pop_front();
    ++first_row_;
  }
}

std::vector<HistoryRow> History::older() const {
  std::vector<HistoryRow> rows;
  rows.reserve(older_.size());
  for (const auto& [key, row] : older_) rows.push_back(row);
  return rows;
}

}  // namespace swipr::live
