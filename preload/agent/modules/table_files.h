// Unwind tables in files by build-id, so that of all processes of a user one builds each. They lie
// in a folder that `swipr` makes beside its cache of names; a recorded program makes no folder, and
// where there is none, or one that is not this user's, there are no files.
//
// A file is copied, not mapped: another process may cut a mapped file short, which ends whoever
// reads it by SIGBUS, or write to it behind the check of its indices. A copy is checked once and is
// private from then on.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <cstdint>
#include <string_view>

#include "preload/unwind/image/table_image.h"

namespace swipr::agent {

class TableFiles {
 public:
  // Where the folder is to be, from XDG_CACHE_HOME and HOME as the program was started with; a path
  // that is not absolute counts as not set. Both empty: there are no files. For the whole process,
  // children of a fork included.
  static void set_place(std::string_view cache_home, std::string_view home) noexcept;
  // Looks for the folder. Call when recordings begin, and close when they end.
  void open() noexcept;
  void close() noexcept;

  // The caller's: destroy_table. nullptr: no file, or none that can be trusted: not this user's,
  // not a regular file, writable for others, of another image, damaged.
  const unwind::UnwindTable* load(const unwind::TableKey& key) const noexcept;
  // Writes a file beside the place and renames it. What fails leaves nothing behind.
  void store(const unwind::UnwindTable& table, const unwind::TableKey& key) const noexcept;

 private:
  int directory_ = -1;
};

}  // namespace swipr::agent
