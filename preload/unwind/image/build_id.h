// The build-id in a segment of notes.
// Context: control thread.  Allocates: never.
// Source: System V gABI, "Note Section"; segments of 8-byte alignment as binutils writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/unwind/base/image_reader.h"

namespace swipr::unwind {

struct NoteSegment {
  std::uint64_t address = 0;  // address as the reader expects it
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 4;  // p_align
};

// Copies the value of NT_GNU_BUILD_ID to the front of `out` and returns its size; 0: there is none,
// it does not fit, or it cannot be read. Bounds: 64 notes.
std::uint32_t read_build_id(const NoteSegment& segment, ImageReader reader,
                            std::span<std::byte> out) noexcept;

}  // namespace swipr::unwind
