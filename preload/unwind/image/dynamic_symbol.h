// Finds an exported symbol of a mapped ELF image as the loader does: by DT_GNU_HASH. Images that
// have only the older DT_HASH are not searched.
// Context: control thread.  Allocates: never.
// Source: ELF-64 gABI, Dynamic Section; glibc, elf/dl-lookup.c (DT_GNU_HASH).
#pragma once

#include <cstdint>
#include <string_view>

#include "common/core/range.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::unwind {

// `dynamic`: run-time addresses of the image's PT_DYNAMIC. Returns the symbol's run-time address;
// 0: the image does not export it, or is damaged. Bounds: a missing name costs three or four small
// reads, because the table has a Bloom filter.
std::uint64_t find_exported(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                            std::string_view name, ImageReader reader) noexcept;
// The same with the symbol's size: the run-time addresses of a function's code. begin 0: no
// such symbol; empty: one without a size.
Range<std::uint64_t> find_exported_range(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                                         std::string_view name, ImageReader reader) noexcept;

// Calls `add` with the image addresses of each function that the image exports, empty if it has no
// size. False: there is none, or the symbols do not lie before their names, as all linkers place
// them.
// Bounds: 1 MiB of symbols.
struct FunctionSink {
  void (*add)(void* state, Range<std::uint64_t> function) noexcept;
  void* state;
};
bool for_each_function(Range<std::uint64_t> dynamic, std::uint64_t load_bias, ImageReader reader,
                       FunctionSink sink) noexcept;

}  // namespace swipr::unwind
