// Functions and processes that must not be traced, by what their images export.
// Context: control thread.  Allocates: never.
#pragma once

#include <cstdint>

#include "preload/unwind/base/image_reader.h"
#include "preload/unwind/image/table_builder.h"

namespace swipr::trace {

// The unwinder, the loader, and what switches stacks or creates threads. An unwinder that is linked
// into a program without being exported is not recognised.
// Bounds: some hundred small reads.
bool is_needed_by_unwinding(const unwind::BuildResult& image, std::uint64_t address,
                            unwind::ImageReader reader) noexcept;

// nullptr, or why nothing in a process with this image can be traced ("because …").
const char* find_hindrance(const unwind::BuildResult& image, unwind::ImageReader reader) noexcept;

}  // namespace swipr::trace
