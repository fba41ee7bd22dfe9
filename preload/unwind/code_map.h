// Sorted executable ranges with their unwind tables: what a walk looks a pc up in. Immutable once built.
#pragma once

#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"

namespace swipr::unwind {

class UnwindTable;  // of one ELF image, position independent (image addresses)

struct CodeRange {
  std::uint64_t start = 0;  // run-time addresses, half-open
  std::uint64_t end = 0;
  std::uint64_t load_bias = 0;
  const UnwindTable* table = nullptr;  // null: no CFI (frame pointer, then guess)
};

class CodeMap {
 public:
  // `ranges` sorted by start, not overlapping; they and their tables outlive the map.
  constexpr explicit CodeMap(std::span<const CodeRange> ranges) noexcept : ranges_(ranges) {}

  SWIPR_SIGNAL_SAFE const CodeRange* find(std::uint64_t pc) const noexcept;
  std::span<const CodeRange> ranges() const noexcept { return ranges_; }

 private:
  std::span<const CodeRange> ranges_;
};

}  // namespace swipr::unwind
