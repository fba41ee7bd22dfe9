// Calls of traced functions by second and duration, for pages that follow a process. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "common/core/duration_buckets.h"

namespace swipr::live {

// Instead of a bucket: the row has for how many nanoseconds calls were traced.
inline constexpr std::uint32_t kTracedTime = kBucketCount;

struct CallRow {
  std::uint32_t second = 0;  // as in HistoryRow
  std::uint32_t function = 0;
  std::uint32_t bucket = 0;  // of common/core/duration_buckets.h
  std::uint64_t calls = 0;
};

class CallHistory {
 public:
  // Bounds of the memory: 12 MB.
  static constexpr std::uint32_t kSeconds = 600;
  static constexpr std::size_t kMaxRows = 500'000;

  struct Function {
    std::string name;
    bool is_traced = false;
    std::string reason;  // why it is not
  };

  explicit CallHistory(std::vector<Function> functions) : functions_(std::move(functions)) {}

  const std::vector<Function>& functions() const { return functions_; }
  void set_traced(std::size_t function, bool is_traced, const std::string& reason);
  // Of set_traced(), so that a reader knows whether it has seen the last one.
  std::uint64_t changes() const { return changes_; }

  // Forgets what is older than kSeconds before the row, and the oldest beyond kMaxRows.
  void add(const CallRow& row);

  // Rows are numbered from 0; those from first_row() to end_row() are kept.
  std::uint64_t first_row() const { return first_row_; }
  std::uint64_t end_row() const { return first_row_ + rows_.size(); }
  const CallRow& row(std::uint64_t number) const { return rows_[number - first_row_]; }

 private:
  std::vector<Function> functions_;
  std::uint64_t changes_ = 1;
  std::deque<CallRow> rows_;
  std::uint64_t first_row_ = 0;
};

}  // namespace swipr::live
