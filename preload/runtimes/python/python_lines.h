// The line of a position in the bytecode of a Python function, from the function's line table.
// Context: control thread.  Allocates: never.
// Source: CPython, Objects/lnotab_notes.txt (3.8–3.10), Objects/locations.md (3.11+).
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "preload/runtimes/python/python_layout.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

inline constexpr std::uint64_t kMaxPythonLineTable = std::uint64_t{64} << 10;  // bytes read of it

// `table`: addresses of its bytes. `position`: bytes; kNoPosition: the function has not begun,
// which is its first line. 0: the table gives no line, cannot be read, or ends before.
std::uint32_t find_python_line(PythonLineFormat format, std::uint32_t first_line,
                               std::uint32_t position, Range<std::uint64_t> table,
                               unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
