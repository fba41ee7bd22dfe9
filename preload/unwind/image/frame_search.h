// Finds the FDEs of a part of an image's code by the search table of .eh_frame_hdr.
// Context: control thread.  Allocates: mmap.
// Source: LSB 5.0 Core, section 10.6.2.
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "preload/unwind/base/growable_array.h"
#include "preload/unwind/base/image_reader.h"
#include "preload/unwind/cfi/cfi_compiler.h"
#include "preload/unwind/image/table_builder.h"

namespace swipr::unwind {

// Those that begin in `part` and the last one before it, which may extend into it. The table is not
// compared with the FDEs.
BuildStatus find_fdes(const BuildResult& image, Range<std::uint64_t> part, ImageReader reader,
                      FdeList& fdes) noexcept;

}  // namespace swipr::unwind
