// Start addresses of functions from call frame information, for files without symbols.
#pragma once

#include <optional>
#include <string_view>

#include "common/core/addresses.h"
#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

class FunctionStarts {
 public:
  // Lifetime: until `file` ends.
  static FunctionStarts read(const ElfFile& file);

  // Start of the function (or of its cold part) that covers `address`; none: there is none, or
  // the tables are not in the format that linkers write.
  std::optional<ImageAddr> find(ImageAddr address) const;

 private:
  // Of the table's entry: where its function begins, and its FDE.
  ImageAddr begin_of(std::size_t entry) const;
  bool covers(std::size_t entry, ImageAddr address) const;

  ElfFile::Section frames_;  // .eh_frame
  ElfFile::Section index_;   // .eh_frame_hdr; empty: none that can be used
  std::size_t count_ = 0;    // of its entries
};

}  // namespace swipr::symbolize
