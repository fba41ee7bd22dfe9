// Unwind tables of code that the program makes at run time and registers CFI for. One table serves
// all such code within 4 GiB: generators register thousands of pieces, and a table each would be
// three mappings each. All of them are built anew when one piece comes or goes.
// Context: control thread.
#pragma once

#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/modules/jit_interface.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/cfi/registered_cfi.h"
#include "preload/unwind/table/code_map.h"

namespace swipr::agent {

class RegisteredCode {
 public:
  // Something was registered or withdrawn since the last rebuild.
  bool is_outdated(const ProcMemory& memory, Moment now) noexcept;
  // Nothing was ever registered, and nothing can be: there is nothing to build.
  bool is_unused() const noexcept;
  // `code`: executable ranges without tables of their own, sorted. False: no memory, and what was
  // built before is dead.
  bool rebuild(std::span<const Range<std::uint64_t>> code, ProcMemory& memory) noexcept;
  // For one of these ranges; nullptr: nothing registered lies there or near.
  const unwind::UnwindTable* find(std::uint64_t start) const noexcept;
  unwind::Withdrawals withdrawals() const noexcept;
  unwind::CodeWitnesses witnesses() noexcept;
  JitInterface& jit_interface() noexcept { return jit_; }
  const JitInterface& jit_interface() const noexcept { return jit_; }

  // Frees what a rebuild replaced. Call when no code map in use knows it.
  void destroy_dead() noexcept;
  // All of it is dead from now on, and forgotten.
  void release() noexcept;

 private:
  struct Table {
    Range<std::uint64_t> code;
    const unwind::UnwindTable* table = nullptr;  // nullptr: the place is free
    bool live = false;
  };
  bool build(const unwind::RegisteredCfi& cfi, Range<std::uint64_t> code) noexcept;
  bool build_witnesses(const unwind::RegisteredCfi& cfi, ProcMemory& memory) noexcept;

  JitInterface jit_;
  MappedArray<Table> tables_;
  struct Witnesses {
    unwind::Mapping memory;
    std::size_t count = 0;
  };
  Witnesses witnesses_;
  MappedArray<unwind::Mapping> dead_witnesses_;
  std::uint32_t changes_seen_ = 0;
  std::uint32_t removals_seen_ = 0;
};

}  // namespace swipr::agent
