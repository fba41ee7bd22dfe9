// Where an image in memory has its .eh_frame_hdr: libunwind looks frame descriptions up in it.
// Context: control thread.  Allocates: never.
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::agent::libunwind {

// Run-time addresses.
struct SearchTable {
  Range<std::uint64_t> image;  // all its segments
  std::uint64_t header = 0;    // of .eh_frame_hdr, which the entries are relative to
  std::uint64_t entries = 0;
  std::uint64_t entry_count = 0;
};

// Each: where a function starts, and its frame description, in 4 bytes each.
inline constexpr std::uint64_t kSearchEntryBytes = 8;

// False: unreadable, damaged, or without such a table; `out.image` may be known nevertheless.
// Source: ELF-64 gABI; LSB 5.0 Core, section 10.6.2.
bool find_search_table(std::uint64_t elf_header, unwind::ImageReader reader,
                       SearchTable& out) noexcept;

}  // namespace swipr::agent::libunwind
