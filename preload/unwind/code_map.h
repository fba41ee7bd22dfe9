// Sorted executable ranges with their unwind tables: what a walk looks a pc up in. Immutable once
// built.
#pragma once

#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"

namespace swipr::unwind {

class RuleCache;
class UnwindTable;  // of one ELF image, position independent (image addresses)

struct CodeRange {
  std::uint64_t start = 0;  // run-time addresses, half-open
  std::uint64_t end = 0;
  std::uint64_t load_bias = 0;
  const UnwindTable* table = nullptr;  // null: no CFI (frame pointer, then guess)
};

class CodeMap {
 public:
  // `ranges` sorted by start, not overlapping; they and their tables outlive the map. `cache`,
  // empty and of this map alone, makes walks several times faster; nullptr: none.
  constexpr explicit CodeMap(std::span<const CodeRange> ranges, RuleCache* cache = nullptr) noexcept
      : ranges_(ranges), cache_(cache) {}

  SWIPR_SIGNAL_SAFE const CodeRange* find(std::uint64_t pc) const noexcept;
  std::span<const CodeRange> ranges() const noexcept { return ranges_; }
  RuleCache* cache() const noexcept { return cache_; }

 private:
  std::span<const CodeRange> ranges_;
  RuleCache* cache_;
};

}  // namespace swipr::unwind
