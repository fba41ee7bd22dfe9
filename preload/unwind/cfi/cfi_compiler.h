// Turns the FDEs of one section or of many into one table.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "preload/unwind/base/image_reader.h"
#include "preload/unwind/cfi/cfi_section.h"

namespace swipr::unwind {

class UnwindTable;

// Offsets continue from section to section, as if the sections were adjacent.
struct PlacedSection {
  CfiSection section;
  std::size_t position = 0;  // of its first byte: the sum of the sizes before it
};

// `text`: the addresses that FDEs may lie in. Bounds: 4 GiB of section and of text, time linear.
BuildStatus compile_cfi(std::span<const PlacedSection> sections, Range<std::uint64_t> text,
                        const UnwindTable*& table) noexcept;

}  // namespace swipr::unwind
