// Sorted executable ranges with their unwind tables, in which walks look up a pc. Immutable once
// built.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"
#include "preload/unwind/base/code_checksum.h"

namespace swipr::unwind {

class RuleCache;
class UnwindTable;  // of one ELF image, position independent (image addresses)

struct CodeRange {
  std::uint64_t start = 0;  // run-time addresses, half-open
  std::uint64_t end = 0;
  std::uint64_t load_bias = 0;
  // null: no CFI (frame pointer, then guess). &kUnbuiltTable: a walk ends here with kUnbuilt, and
  // the control thread stores the table, or null, while handlers walk.
  const UnwindTable* table = nullptr;
  // The table is made of CFI that the program registered and may withdraw at any time.
  bool is_registered = false;
};

// Number of withdrawals of registered CFI, now and when the tables were built.
struct Withdrawals {
  const std::atomic<std::uint32_t>* count = nullptr;
  std::uint32_t when_built = 0;
};

class CodeMap {
 public:
  // `ranges` sorted by start, not overlapping; they, their tables and the checksums outlive the
  // map. `cache`, empty and used by this map only, makes walks several times faster; nullptr: none.
  // `withdrawals` is needed if a range is registered, `checksums` if some of its code is removed
  // without a withdrawal.
  constexpr explicit CodeMap(std::span<const CodeRange> ranges, RuleCache* cache = nullptr,
                             Withdrawals withdrawals = {}, CodeChecksums checksums = {}) noexcept
      : ranges_(ranges), cache_(cache), withdrawals_(withdrawals), checksums_(checksums) {}

  SWIPR_SIGNAL_SAFE const CodeRange* find(std::uint64_t pc) const noexcept;
  // nullptr: no CFI, or it may have been withdrawn and replaced by other code. If the range is
  // registered, the checksums have to be verified as well.
  SWIPR_SIGNAL_SAFE const UnwindTable* table_of(const CodeRange& range) const noexcept {
    const bool is_stale =
        range.is_registered &&
        withdrawals_.count->load(std::memory_order_acquire) != withdrawals_.when_built;
    return is_stale ? nullptr : __atomic_load_n(&range.table, __ATOMIC_ACQUIRE);
  }
  std::span<const CodeRange> ranges() const noexcept { return ranges_; }
  RuleCache* cache() const noexcept { return cache_; }
  const CodeChecksums& checksums() const noexcept { return checksums_; }

 private:
  std::span<const CodeRange> ranges_;
  RuleCache* cache_;
  Withdrawals withdrawals_;
  CodeChecksums checksums_;
};

}  // namespace swipr::unwind
