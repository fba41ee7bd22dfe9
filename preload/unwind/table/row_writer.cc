#include "preload/unwind/table/row_writer.h"

#include "preload/unwind/table/rule_set.h"

namespace swipr::unwind {

void RowWriter::drop_from(std::uint32_t relative) noexcept {
  while (!addresses_.empty() && addresses_.back() >= relative) {
    addresses_.pop_back();
    rules_.pop_back();
  }
}

bool RowWriter::begin_fde(std::uint64_t start, std::size_t max_rows) noexcept {
  if (starts_.empty()) base_ = start;
  const auto relative = static_cast<std::uint32_t>(start - base_);
  drop_from(relative);
  const std::size_t with_end = addresses_.size() + max_rows + 1;
  return addresses_.reserve(with_end) && rules_.reserve(with_end) && starts_.push_back(relative);
}

void RowWriter::end_fde(std::uint64_t end) noexcept {
  if (end - base_ > covered_bytes_) covered_bytes_ = end - base_;
  add(end, RuleSet::kNone);
}

}  // namespace swipr::unwind
