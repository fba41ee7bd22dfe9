#include "preload/unwind/table_packer.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace swipr::unwind {
namespace {

// Hands out parts of the mapping; the first round, without memory, only adds up the sizes.
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

// Pages of 64 bytes of code and more, at most one for two rows: an index of a third of the rows'
// size that leaves a search of two steps on average.
unsigned choose_page_shift(std::uint64_t covered_bytes, std::size_t row_count) noexcept {
  unsigned shift = 6;
  while ((covered_bytes >> shift) > row_count / 2 + 16) ++shift;
  return shift;
}

void fill_pages(std::span<const std::uint32_t> rows, unsigned shift,
                std::span<std::uint32_t> pages) noexcept {
  std::uint32_t row = 0;
  for (std::size_t page = 0; page < pages.size(); ++page) {
    const std::uint64_t start = std::uint64_t{page} << shift;
    while (row + 1 < rows.size() && rows[row + 1] <= start) ++row;
    pages[page] = row;
  }
}

void lay_out(Layout& layout, const RowWriter& rows, const RuleSet& rules, UnwindTable*& table) {
  table = layout.place<UnwindTable>(1);
  UnwindTable description;
  const unsigned shift = choose_page_shift(rows.covered_bytes(), rows.addresses().size());
  const std::size_t pages = static_cast<std::size_t>(rows.covered_bytes() >> shift) + 2;
  std::uint32_t* const page_rows = layout.place<std::uint32_t>(pages);
  description.base = rows.base();
  description.covered_bytes = rows.covered_bytes();
  description.page_shift = shift;
  description.row_count = static_cast<std::uint32_t>(rows.addresses().size());
  description.rule_count = static_cast<std::uint32_t>(rules.rules().size());
  description.page_rows = page_rows;
  description.row_addresses = layout.copy(rows.addresses());
  description.row_rules = layout.copy(rows.rules());
  description.function_count = static_cast<std::uint32_t>(rows.function_starts().size());
  description.function_starts = layout.copy(rows.function_starts());
  description.rules = layout.copy(rules.rules());
  description.locations = layout.copy(rules.locations());
  description.pool = layout.copy(rules.pool());
  if (table == nullptr) return;
  fill_pages(rows.addresses(), shift, {page_rows, pages});
  new (table) UnwindTable(description);
}

}  // namespace

const UnwindTable* pack_table(const RowWriter& rows, const RuleSet& rules) noexcept {
  UnwindTable* table = nullptr;
  Layout sizes(nullptr);
  lay_out(sizes, rows, rules, table);
  void* const memory =
      ::mmap(nullptr, sizes.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Layout layout(static_cast<std::byte*>(memory));
  lay_out(layout, rows, rules, table);
  table->mapped_bytes = sizes.bytes();
  // A stray write of the program must not turn into wrong stacks.
  ::mprotect(memory, sizes.bytes(), PROT_READ);
  return table;
}

}  // namespace swipr::unwind
