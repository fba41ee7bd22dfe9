// Where the sections of one unit lie in a package of split DWARF (.dwp).
// Source: DWARF 5, section 7.3.5.3; version 2, GNU's for DWARF 4: gcc.gnu.org/wiki/DebugFissionDWP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace swipr::symbolize {

struct PackagedSlices {
  struct Slice {
    std::uint32_t offset = 0, size = 0;  // in bytes, in the package's section of that kind
  };
  Slice info, abbrev, str_offsets, rnglists;  // of size 0: absent
};

// `index` is .debug_cu_index, `id` what the skeleton calls its split unit. None: the package does
// not have it, or the index is damaged. The slices are as the file says.
std::optional<PackagedSlices> find_in_package(std::span<const std::byte> index, std::uint64_t id);

}  // namespace swipr::symbolize
