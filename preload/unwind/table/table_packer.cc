#include "preload/unwind/table/table_packer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace swipr::unwind {
namespace {

// Allocates parts of the mapping; the first pass, without memory, only adds up the sizes.
class Layout {
 public:
  explicit Layout(std::byte* memory) noexcept : memory_(memory) {}

  template <typename T>
  T* place(std::size_t count) noexcept {
    const std::size_t start = (bytes_ + alignof(T) - 1) / alignof(T) * alignof(T);
    bytes_ = start + count * sizeof(T);
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + start);
  }
  template <typename T>
  const T* copy(std::span<const T> values) noexcept {
    T* const target = place<T>(values.size());
    if (target != nullptr && !values.empty()) {
      std::memcpy(target, values.data(), values.size_bytes());
    }
    return target;
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

// Pages of at least 64 bytes of code, at most one for four rows: the index has a sixth of the size
// of the rows, and a search takes three steps on average.
unsigned choose_page_shift(std::uint64_t covered_bytes, std::size_t row_count) noexcept {
  unsigned shift = 6;
  while ((covered_bytes >> shift) > row_count / 4 + 16) ++shift;
  return shift;
}

// The row that applies at each page's start: the last one that begins there or before.
void fill_pages(std::span<const std::uint32_t> rows, unsigned shift,
                std::span<std::uint32_t> pages) noexcept {
  const std::uint64_t last_byte = (std::uint64_t{1} << shift) - 1;
  std::size_t page = 0;
  for (std::uint32_t row = 1; row < rows.size(); ++row) {
    const std::size_t end = std::min<std::size_t>((rows[row] + last_byte) >> shift, pages.size());
    while (page < end) pages[page++] = row - 1;
  }
  while (page < pages.size()) pages[page++] = static_cast<std::uint32_t>(rows.size() - 1);
}

void lay_out(Layout& layout, const RowWriter& rows, const RuleSet& rules, UnwindTable*& table) {
  table = layout.place<UnwindTable>(1);
  UnwindTable description;
  const unsigned shift = choose_page_shift(rows.covered_bytes(), rows.addresses().size());
  description.base = rows.base();
  description.covered_bytes = rows.covered_bytes();
  description.page_shift = shift;
  const auto pages = static_cast<std::size_t>(description.page_count());
  std::uint32_t* const page_rows = layout.place<std::uint32_t>(pages);
  description.row_count = static_cast<std::uint32_t>(rows.addresses().size());
  description.rule_count = static_cast<std::uint32_t>(rules.rules().size());
  description.page_rows = page_rows;
  description.function_count = static_cast<std::uint32_t>(rows.function_starts().size());
  description.location_count = static_cast<std::uint32_t>(rules.locations().size());
  description.pool_bytes = static_cast<std::uint32_t>(rules.pool().size());
  description.row_addresses = layout.copy(rows.addresses());
  description.function_starts = layout.copy(rows.function_starts());
  description.rules = layout.copy(rules.rules());
  description.locations = layout.copy(rules.locations());
  description.row_rules = layout.copy(rows.rules());
  description.pool = layout.copy(rules.pool());
  if (table == nullptr) return;
  fill_pages(rows.addresses(), shift, {page_rows, pages});
  new (table) UnwindTable(description);
}

}  // namespace

void seal(const UnwindTable& table) noexcept {
  const Mapping mapping = table.mapping;
  ::madvise(mapping.memory, mapping.bytes, MADV_DONTFORK);
  ::mprotect(mapping.memory, mapping.bytes, PROT_READ);
}

const UnwindTable* pack_table(const RowWriter& rows, const RuleSet& rules) noexcept {
  UnwindTable* table = nullptr;
  Layout sizes(nullptr);
  lay_out(sizes, rows, rules, table);
  void* const memory = ::mmap(nullptr, sizes.bytes(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Layout layout(static_cast<std::byte*>(memory));
  lay_out(layout, rows, rules, table);
  table->mapping = {memory, sizes.bytes()};
  seal(*table);
  return table;
}

}  // namespace swipr::unwind
