// Turns the FDEs of one section or of many into one table.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/base/image_reader.h"
#include "preload/unwind/cfi/cfi_section.h"

namespace swipr::unwind {

class UnwindTable;

// Offsets continue from section to section, as if the sections were adjacent.
struct PlacedSection {
  CfiSection section;
  std::size_t position = 0;  // of its first byte: the sum of the sizes before it
};

// Start of an FDE's code, relative to the text's first byte, in the high half and position of the
// entry in the low half: one number, so that sorting moves little data.
class FdeIndex {
 public:
  FdeIndex(std::uint64_t start, std::uint64_t position) noexcept : bits_(start << 32 | position) {}
  std::uint64_t start() const noexcept { return bits_ >> 32; }
  std::size_t position() const noexcept { return bits_ & UINT32_MAX; }
  friend auto operator<=>(FdeIndex, FdeIndex) noexcept = default;

 private:
  std::uint64_t bits_;
};

using FdeList = GrowableArray<FdeIndex, 512>;

// `text`: the addresses that FDEs may lie in. Bounds: 4 GiB of section and of text, time linear.
BuildStatus compile_cfi(std::span<const PlacedSection> sections, Range<std::uint64_t> text,
                        const UnwindTable*& table) noexcept;
// The same of some FDEs. Those that begin elsewhere than `fdes` says are left out.
BuildStatus compile_fdes(const CfiSection& section, Range<std::uint64_t> text,
                         std::span<FdeIndex> fdes, const UnwindTable*& table) noexcept;

}  // namespace swipr::unwind
