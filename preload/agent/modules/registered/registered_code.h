// Unwind tables of code that the program generates at run time and registers CFI for. One table
// serves all such code within 4 GiB, because JIT compilers register thousands of pieces and a table
// for each would need three mappings. All tables are rebuilt when a piece is added or removed.
// Context: control thread.
#pragma once

#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/modules/registered/jit_interface.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/cfi/registered_cfi.h"
#include "preload/unwind/table/code_map.h"

namespace swipr::agent {

class RegisteredCode {
 public:
  // Something was registered or withdrawn since the last rebuild.
  bool is_outdated(const ProcMemory& memory, Moment now) noexcept;
  // No CFI is registered or can be: there is nothing to build.
  bool is_unused() const noexcept;
  // `code`: executable ranges without tables of their own, sorted. False: no memory; the earlier
  // tables are not valid any more.
  bool rebuild(std::span<const Range<std::uint64_t>> code, ProcMemory& memory) noexcept;
  // The table for one of these ranges; nullptr: no registered code is there.
  const unwind::UnwindTable* find(std::uint64_t start) const noexcept;
  unwind::Withdrawals withdrawals() const noexcept;
  unwind::CodeChecksums checksums() noexcept;
  JitInterface& jit_interface() noexcept { return jit_; }
  const JitInterface& jit_interface() const noexcept { return jit_; }

  // Frees replaced tables. Call when no current code map refers to them.
  void destroy_dead() noexcept;
  // Invalidates and removes all tables.
  void release() noexcept;

 private:
  struct Table {
    Range<std::uint64_t> code;
    const unwind::UnwindTable* table = nullptr;  // nullptr: the place is free
    bool live = false;
  };
  bool build(const unwind::RegisteredCfi& cfi, Range<std::uint64_t> code) noexcept;
  bool build_checksums(unwind::RegisteredCfi& cfi, ProcMemory& memory) noexcept;

  JitInterface jit_;
  MappedArray<Table> tables_;
  struct Checksums {
    unwind::Mapping memory;
    std::size_t count = 0;
  };
  Checksums checksums_;
  MappedArray<unwind::Mapping> dead_checksums_;
  std::uint32_t changes_seen_ = 0;
  std::uint32_t removals_seen_ = 0;
};

}  // namespace swipr::agent
