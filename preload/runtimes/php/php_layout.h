// Where PHP 7.4 to 8.4 keeps what a stack walk reads, and how a process is seen to run one of them.
// Nothing of PHP is called. Source: the headers of each version (Zend/zend_compile.h,
// zend_globals.h, zend_string.h), which describe the same structures for all builds that are
// neither thread-safe nor for debugging.
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "preload/runtimes/detection.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

// Offsets in bytes, of zend_op_array.
struct PhpLayout {
  std::uint32_t api;  // number of the interface for modules, which each version has its own
  std::uint8_t major;
  std::uint8_t minor;
  std::uint32_t instruction_count;
  std::uint32_t instructions;
  std::uint32_t file;  // the first line is behind it
};

// nullptr: no version that is known.
const PhpLayout* find_php_layout(std::uint32_t api) noexcept;

// An interpreter in this process. A value: copy it. Valid while the image is mapped.
struct PhpRuntime {
  PhpLayout layout{};
  std::uint64_t current_frame = 0;  // where the address of the innermost frame is
  Range<std::uint64_t> loop;        // the code of execute_ex, for the splice
};

struct PhpDetection {
  DetectionState state = DetectionState::kAbsent;
  const char* reason = nullptr;  // static text, for "frames not read (REASON)"
  PhpRuntime runtime;            // its layout with a known version, all of it with kFound
};

// Looks for PHP in a mapped image: `dynamic` is its PT_DYNAMIC (run-time addresses), as for
// find_exported; `header` its ELF header. An image that has none costs three or four small reads.
// Context: control thread.  Allocates: never.  Bounds: 32 MiB of the image's constants, which PHP
// has its version in.
PhpDetection detect_php(std::uint64_t header, Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                        unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
