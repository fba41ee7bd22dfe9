// Unwind tables in files by build-id, so that only one process of a user builds each. They are in a
// folder that `swipr` creates beside its name cache. A recorded program creates no folder; without
// a folder of this user no files are read or written.
//
// A file is copied, not mapped: another process could truncate a mapped file, which kills its
// readers by SIGBUS, or modify it after its indices were checked. A private copy is checked once.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <cstdint>
#include <string_view>

#include "preload/unwind/image/table_image.h"

namespace swipr::agent {

class TableFiles {
 public:
  // Sets the folder, from XDG_CACHE_HOME and HOME at the program's start; a path that is not
  // absolute counts as not set. Both empty: no files are used. Applies to the process and children
  // of a fork.
  static void set_place(std::string_view cache_home, std::string_view home) noexcept;
  // Opens the folder. Call when recordings begin, and close when they end.
  void open() noexcept;
  void close() noexcept;

  // The caller frees it with destroy_table. nullptr: no file, or one that is not trusted: of
  // another user, not regular, writable by others, of another image, or damaged.
  const unwind::UnwindTable* load(const unwind::TableKey& key) const noexcept;
  // Writes a temporary file and renames it. On failure no file is left.
  void store(const unwind::UnwindTable& table, const unwind::TableKey& key) const noexcept;

 private:
  int directory_ = -1;
};

}  // namespace swipr::agent
