// The unwind table of an image without CFI, derived from its instructions: each path through a
// function is followed from its entry, and what it does to the stack pointer is added up. For C
// libraries that are built without CFI (musl), whose functions are on every stack. On aarch64 only
// leaf functions that leave the stack pointer alone are known, such as those of the vDSO.
// Context: control thread.  Allocates: mmap, a few times the size of the code, until it returns.
#pragma once

#include <cstdint>

#include "preload/unwind/base/image_reader.h"
#include "preload/unwind/image/table_builder.h"

namespace swipr::unwind {

// Functions are found by the image's dynamic symbols, by calls and by addresses that are taken, and
// behind the ends of others.  kNoCfi: the image exports no function.
// Bounds: 4 MiB of code; time linear in it. Code can be anything: the table may be wrong then, and
// a walk with it reads the stack only.
BuildStatus derive_table(const BuildResult& image, ImageReader reader,
                         const UnwindTable*& table) noexcept;

}  // namespace swipr::unwind
