#include "preload/agent/modules/kept_tables.h"

#include <algorithm>

namespace swipr::agent {

const unwind::UnwindTable* KeptTables::take(const unwind::TableKey& key) noexcept {
  Kept* const found = std::find_if(tables_.begin(), tables_.end(),
                                   [&key](const Kept& kept) { return kept.key == key; });
  if (found == tables_.end()) return nullptr;
  const unwind::UnwindTable* const table = found->table;
  std::rotate(tables_.begin(), found, found + 1);
  erase_first(1);
  return table;
}

void KeptTables::put(const unwind::UnwindTable* table, const unwind::TableKey& key) noexcept {
  if (!key.is_usable() || !tables_.push_back({key, table})) unwind::destroy_table(table);
}

void KeptTables::trim(std::size_t max_bytes) noexcept {
  std::size_t bytes = 0;
  for (const Kept& kept : tables_) bytes += unwind::table_memory_bytes(kept.table);
  std::size_t count = 0;
  for (; bytes > max_bytes; ++count) {
    bytes -= unwind::table_memory_bytes(tables_[count].table);
    unwind::destroy_table(tables_[count].table);
  }
  erase_first(count);
}

void KeptTables::erase_first(std::size_t count) noexcept {
  if (count == 0) return;
  std::move(tables_.begin() + count, tables_.end(), tables_.begin());
  static_cast<void>(tables_.resize(tables_.size() - count));
  if (tables_.empty()) tables_.release();
}

}  // namespace swipr::agent
