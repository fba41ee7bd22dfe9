#include "cli/commands/live/live_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/export/text/json_text.h"

namespace swipr::commands {

namespace {

using exporters::json_index;
using exporters::json_string;
using live::History;
using live::HistoryRow;
using profile::kNone;

constexpr std::size_t kMaxEventBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxNodes = 100'000;  // 2 MB
constexpr std::size_t kMaxRows = 40'000;    // 2 MB

template <typename... Values>
void put(std::string& out, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Values>(values)...);
}

// An index of a table; -1: none.
std::int64_t or_none(std::uint32_t index) { return index == kNone ? -1 : std::int64_t{index}; }

// Eleven numbers; -1 for a second: before all others.
void put_row(std::string& out, const HistoryRow& row, std::int64_t second, char separator) {
  put(out, "{}{},{},{},{},{},{},{},{},{},{},{}", separator, second, row.bin, row.thread, row.node,
      static_cast<unsigned>(row.state), or_none(row.wait), or_none(row.calls), row.ticks,
      row.cpu_us, row.runqueue_us, row.wall_us);
}

}  // namespace

std::string LiveFeed::next() {
  if (version_ == state_.version && !is_behind_) return {};
  version_ = state_.version;
  std::string out;
  put(out,
      "{{\"title\":{},\"interval_ns\":{},\"now_ns\":{},\"dropped\":{},\"ended\":{},"
      "\"deadlocks\":{}",
      json_string(state_.title), state_.interval.count(), history_.now_ns(),
      state_.dropped + history_.left_out(), state_.has_ended, state_.deadlocks);
  write_modules(out);
  // What refers to something comes with it or later.
  is_behind_ = !write_functions(out) || !write_nodes(out);
  if (!is_behind_) {
    write_threads(out);
    write_waits(out);
    write_call_sets(out);
    write_rows(out);
    is_behind_ = row_ != history_.end_row();
  }
  if (!write_calls(out)) is_behind_ = true;
  put(out, ",\"behind\":{}}}", is_behind_);
  return out;
}

void LiveFeed::write_modules(std::string& out) {
  if (modules_ == history_.modules().size()) return;
  char separator = '[';
  out += ",\"modules\":";
  for (; modules_ < history_.modules().size(); ++modules_) {
    const History::Module& module = history_.modules()[modules_];
    put(out, "{}[{},{}]", separator, json_string(module.path), module.is_own ? 1 : 0);
    separator = ',';
  }
  out += ']';
}

// Returns false if there are more.
bool LiveFeed::write_functions(std::string& out) {
  const auto& functions = history_.functions();
  if (functions_ == functions.size()) return true;
  char separator = '[';
  out += ",\"functions\":";
  for (; functions_ < functions.size() && out.size() < kMaxEventBytes; ++functions_) {
    const live::Function& function = functions[functions_];
    const bool is_native = function.language == Language::kNative;
    put(out, "{}[{},{},{},{},{},{}]", separator, json_string(function.name),
        json_index(function.module), json_string(function.file), function.line,
        json_string(is_native ? "" : language_name(function.language)), function.is_code ? 1 : 0);
    separator = ',';
  }
  out += ']';
  return functions_ == functions.size();
}

bool LiveFeed::write_nodes(std::string& out) {
  const auto& nodes = history_.nodes();
  if (nodes_ == nodes.size()) return true;
  const std::size_t end = std::min(nodes.size(), nodes_ + kMaxNodes);
  char separator = '[';
  out += ",\"nodes\":";
  for (; nodes_ < end; ++nodes_) {
    put(out, "{}{},{}", separator, static_cast<std::int32_t>(nodes[nodes_].parent),
        nodes[nodes_].function);
    separator = ',';
  }
  out += ']';
  return nodes_ == nodes.size();
}

void LiveFeed::write_threads(std::string& out) {
  if (names_ == history_.name_changes()) return;
  char separator = '[';
  out += ",\"threads\":";
  for (std::size_t index = 0; index < history_.threads().size(); ++index) {
    const History::Thread& thread = history_.threads()[index];
    if (thread.named_at <= names_) continue;
    put(out, "{}[{},{},{}]", separator, index, thread.tid.value, json_string(thread.name));
    separator = ',';
  }
  out += ']';
  names_ = history_.name_changes();
}

void LiveFeed::write_waits(std::string& out) {
  if (waits_ == history_.waits().size()) return;
  char separator = '[';
  out += ",\"waits\":";
  for (; waits_ < history_.waits().size(); ++waits_) {
    const History::Wait& wait = history_.waits()[waits_];
    put(out, "{}[{},{}]", separator, json_string(wait.lock), json_index(wait.owner));
    separator = ',';
  }
  out += ']';
}

// Three numbers for each call of a set.
void LiveFeed::write_call_sets(std::string& out) {
  if (call_sets_ == history_.call_sets().size()) return;
  char separator = '[';
  out += ",\"call_sets\":";
  for (; call_sets_ < history_.call_sets().size(); ++call_sets_) {
    out += separator;
    separator = '[';
    for (const live::SampledCall& call : history_.call_sets()[call_sets_]) {
      put(out, "{}{},{},{}", separator, call.function, call.bucket, call.is_open ? 1 : 0);
      separator = ',';
    }
    out += ']';
    separator = ',';
  }
  out += ']';
}

// Returns false if there are more.
bool LiveFeed::write_calls(std::string& out) {
  if (state_.calls == nullptr) return true;
  const live::CallHistory& history = *state_.calls;
  char separator = '[';
  if (call_changes_ != history.changes()) {
    out += ",\"calls\":";
    for (const live::CallHistory::Function& function : history.functions()) {
      put(out, "{}[{},{},{}]", separator, json_string(function.name), function.is_traced ? 1 : 0,
          json_string(function.reason));
      separator = ',';
    }
    out += ']';
    call_changes_ = history.changes();
  }
  put(out, ",\"calls_begin\":{},\"call_rows\":", call_row_ < history.first_row());
  call_row_ = std::max(call_row_, history.first_row());
  const std::uint64_t end = std::min<std::uint64_t>(history.end_row(), call_row_ + kMaxRows);
  separator = '[';
  for (; call_row_ < end; ++call_row_) {
    const live::CallRow& row = history.row(call_row_);
    put(out, "{}{},{},{},{}", separator, row.second, row.function, row.bucket, row.calls);
    separator = ',';
  }
  out += separator == '[' ? "[]" : "]";
  return call_row_ == history.end_row();
}

void LiveFeed::write_rows(std::string& out) {
  const bool begins = !has_rows_ || row_ < history_.first_row();
  has_rows_ = true;
  char separator = '[';
  put(out, ",\"begins\":{},\"rows\":", begins);
  if (begins) {
    row_ = history_.first_row();
    for (const HistoryRow& row : history_.older()) {
      put_row(out, row, -1, separator);
      separator = ',';
    }
  }
  const std::uint64_t end = std::min<std::uint64_t>(history_.end_row(), row_ + kMaxRows);
  for (; row_ < end; ++row_) {
    const HistoryRow& row = history_.row(row_);
    put_row(out, row, row.second, separator);
    separator = ',';
  }
  out += separator == '[' ? "[]" : "]";
}

}  // namespace swipr::commands
