#include "preload/unwind/row_writer.h"

#include "preload/unwind/rule_set.h"

namespace swipr::unwind {

void RowWriter::drop_from(std::uint32_t relative) noexcept {
  while (!addresses_.empty() && addresses_.back() >= relative) {
    addresses_.pop_back();
    rules_.pop_back();
  }
}

bool RowWriter::begin_fde(std::uint64_t start) noexcept {
  const auto relative = static_cast<std::uint32_t>(start - base_);
  drop_from(relative);
  return starts_.push_back(relative);
}

bool RowWriter::add(std::uint64_t address, std::uint16_t rule) noexcept {
  const auto relative = static_cast<std::uint32_t>(address - base_);
  if (!addresses_.empty() && addresses_.back() == relative) drop_from(relative);
  if (!rules_.empty() && rules_.back() == rule) return true;
  return addresses_.push_back(relative) && rules_.push_back(rule);
}

bool RowWriter::end_fde(std::uint64_t end) noexcept {
  if (end - base_ > covered_bytes_) covered_bytes_ = end - base_;
  return add(end, RuleSet::kNone);
}

}  // namespace swipr::unwind
