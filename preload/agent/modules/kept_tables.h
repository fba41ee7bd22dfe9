// Tables that no code map uses, kept for the next recording of this process.
// Context: control thread.
#pragma once

#include <cstddef>

#include "preload/agent/base/mapped_memory.h"
#include "preload/unwind/image/table_image.h"

namespace swipr::agent {

class KeptTables {
 public:
  // The table; the caller owns it from now on. nullptr: there is none.
  const unwind::UnwindTable* take(const unwind::TableKey& key) noexcept;
  // Takes ownership of the table.
  void put(const unwind::UnwindTable* table, const unwind::TableKey& key) noexcept;
  // Frees the oldest tables until the others have at most `max_bytes` together.
  void trim(std::size_t max_bytes) noexcept;

 private:
  struct Kept {
    unwind::TableKey key;
    const unwind::UnwindTable* table = nullptr;
  };
  void erase_first(std::size_t count) noexcept;

  MappedArray<Kept, Lifetime::kProcess> tables_;
};

}  // namespace swipr::agent
