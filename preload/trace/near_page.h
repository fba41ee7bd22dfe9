// Memory that a jump of a function can reach.
// Context: control thread.
#pragma once

#include <cstdint>

namespace swipr::trace {

// Maps a writable page within kFarthestCopy of `address`, where nothing is mapped. 0: none is free.
std::uint64_t map_page_near(std::uint64_t address) noexcept;

}  // namespace swipr::trace
