// The instructions of rb_during_gc, which read the flag that Ruby collects garbage.
// Context: control thread.  Allocates: never.  Bounds: 16 instructions.
#pragma once

#include <cstdint>

#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/ruby/ruby_layout.h"

namespace swipr::runtimes {

// Sets where the flag is. False: the code is not as compilers are known to make it.
bool follow_collector_code(Range<std::uint64_t> code, ObjectPieces& reader,
                           RubyCollector& out) noexcept;

}  // namespace swipr::runtimes
