#include "preload/agent/modules/image_tables.h"

#include <span>

namespace swipr::agent {

namespace {

bool is_owned(const unwind::UnwindTable* table) noexcept {
  return table != nullptr && table->mapping.memory != nullptr;
}

}  // namespace

ImageTables::ImageTables(const unwind::BuildResult& image) noexcept {
  if (image.search.count >= kLeastFdes && !image.text.empty()) {
    begin_ = image.text.begin;
    const std::uint64_t last = image.text.end - 1 - begin_;
    shift_ = kLeastShift;
    while (last >> shift_ >= kMaxParts) ++shift_;
    count_ = static_cast<unsigned>(last >> shift_) + 1;
  }
  std::fill_n(tables_.begin(), count_, &unwind::kUnbuiltTable);
}

const unwind::UnwindTable* ImageTables::release(unsigned index, bool& is_new) noexcept {
  const unwind::UnwindTable* const table = tables_[index];
  if (!is_owned(table)) return nullptr;
  const std::uint32_t bit = std::uint32_t{1} << index;
  is_new = (new_ & bit) != 0;
  new_ &= ~bit;
  tables_[index] = nullptr;
  return table;
}

bool ImageTables::has_memory() const noexcept {
  return std::any_of(tables_.begin(), tables_.begin() + count_, is_owned);
}

}  // namespace swipr::agent
