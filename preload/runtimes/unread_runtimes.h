// Runtimes whose frames nobody here reads: what they are recognised by, and what users can do.
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "common/core/runtime_frame.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

struct UnreadRuntime {
  Language language;
  const char* name;    // at most 15 characters; stands where other runtimes have their version
  const char* reason;  // at most 95 characters, for "frames are not read (REASON)"
};

// nullptr: the mapped image is none of them. Arguments as for find_exported.
// Context: control thread.  Allocates: never.  Bounds: about 30 small reads.
const UnreadRuntime* find_unread_runtime(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                                         unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
