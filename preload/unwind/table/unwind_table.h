// The unwind table of one ELF image: rows sorted by address, each with the number of a rule.
// Context: anywhere, signal handlers included (built by table_builder.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"
#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/table/rule.h"

namespace swipr::unwind {

// A row applies from its address up to the next row's. Code between FDEs has rows with rule 0,
// "none". Four plus two bytes per row: 50 MB of text (libLLVM 14) have 950,000.
class UnwindTable {
 public:
  // The rule for an instruction; nullptr: no CFI.
  SWIPR_SIGNAL_SAFE const Rule* find(std::uint64_t image_address) const noexcept {
    const std::uint64_t relative = image_address - base;
    if (relative >= covered_bytes) return nullptr;
    const std::uint64_t page = relative >> page_shift;
    const std::uint32_t* row = row_addresses + page_rows[page];
    const std::uint32_t* last = row_addresses + page_rows[page + 1];
    // Binary search without branches: a page has only a few rows, and a branch could not be
    // predicted.
    for (std::size_t count = static_cast<std::size_t>(last - row) + 1; count > 1;) {
      const std::size_t half = count / 2;
      row = row[half] <= relative ? row + half : row;
      count -= half;
    }
    const Rule* rule = rules + row_rules[row - row_addresses];
    return (rule->flags & kRuleNone) != 0 ? nullptr : rule;
  }

  // Start of the function that contains an instruction: that of its FDE; 0: no FDE before it.
  std::uint64_t function_start(std::uint64_t image_address) const noexcept {
    const std::uint64_t relative = image_address - base;
    if (relative >= covered_bytes) return 0;
    const std::uint32_t* const last = function_starts + function_count;
    const std::uint32_t* const above =
        std::upper_bound(function_starts, last, static_cast<std::uint32_t>(relative));
    return above == function_starts ? 0 : base + above[-1];
  }

  std::uint64_t page_count() const noexcept { return (covered_bytes >> page_shift) + 2; }

  SWIPR_SIGNAL_SAFE std::span<const std::byte> expression(std::size_t position,
                                                          std::size_t bytes) const noexcept {
    return {pool + position, bytes};
  }

  std::uint64_t base = 0;           // image address of row 0
  std::uint64_t covered_bytes = 0;  // from there to the end of the last FDE
  unsigned page_shift = 0;
  std::uint32_t row_count = 0;
  std::uint32_t rule_count = 0;
  std::uint32_t function_count = 0;
  std::uint32_t location_count = 0;
  std::uint32_t pool_bytes = 0;
  const std::uint32_t* page_rows = nullptr;      // the row at each page's start, and one more
  const std::uint32_t* row_addresses = nullptr;  // relative to `base`
  const std::uint16_t* row_rules = nullptr;
  const std::uint32_t* function_starts = nullptr;  // of the FDEs, sorted, relative to `base`
  const Rule* rules = nullptr;
  const Location* locations = nullptr;
  const std::byte* pool = nullptr;  // bytes of expressions
  Mapping mapping;                  // all memory of the table, which begins with this object
};

// Stands for the table of an image that has not been built yet. It covers nothing.
inline constexpr UnwindTable kUnbuiltTable{};
// That of a part of an image where no function begins.
inline constexpr UnwindTable kEmptyTable{};

}  // namespace swipr::unwind
