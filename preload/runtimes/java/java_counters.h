// Counters that a Java virtual machine keeps in memory (jvmstat), unless it runs with
// -XX:-UsePerfData. Source: src/hotspot/share/runtime/perfMemory.hpp, 8 to 27.
// Context: control thread.  Allocates: never.
#pragma once

#include <cstdint>
#include <string_view>

#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

inline constexpr std::uint32_t kMaxJavaCounters = 2048;

// The address of a counter of 64 bits; 0: there is none. `begin`: of all counters.
// Bounds: two small reads for each counter, mostly of one piece of memory.  Lifetime: that of the
// process.
std::uint64_t find_java_counter(std::uint64_t begin, std::string_view name,
                                unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
