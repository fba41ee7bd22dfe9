// Properties of a mapped ELF image, read from memory. Every byte is untrusted: the program may have
// overwritten it, and it may be unmapped while it is read.
// Context: control thread.  Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/core/range.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::unwind {

// The search table of .eh_frame_hdr: pairs of a function's start and the address of its FDE, sorted
// by start, both counted from the header. count 0: none that can be used.
struct FrameSearch {
  std::uint64_t header = 0;  // image address
  std::uint64_t count = 0;
  static constexpr std::uint64_t kEntriesAt = 12;  // behind the header's begin
  static constexpr std::uint64_t kEntryBytes = 8;
};

struct ElfImage {
  std::uint64_t load_bias = 0;
  Range<std::uint64_t> text;  // image addresses, from the first to the last executable segment
  Range<std::uint64_t>
      eh_frame;  // image addresses; the end is a bound, a zero length may come first
  FrameSearch search;
  Range<std::uint64_t> dynamic;  // image addresses of PT_DYNAMIC; empty: none
  std::uint32_t build_id_bytes = 0;
  std::byte build_id[64] = {};
};

// With kNoCfi, kUnreadable and kDamaged, load bias and build-id are set as far as they were found.
// Source: ELF-64 gABI; LSB 5.0 Core, sections 10.6.2 (.eh_frame_hdr) and 12.2 (PT_GNU_EH_FRAME).
BuildStatus read_elf_image(std::uint64_t elf_header, ImageReader reader, ElfImage& image) noexcept;

}  // namespace swipr::unwind
