// How far a clock has advanced, as records have it. Pure.
#pragma once

#include <cstdint>

namespace swipr::agent {

// 0: it has not, or was set back.
constexpr std::uint64_t growth(std::int64_t from, std::int64_t to) noexcept {
  return to > from ? static_cast<std::uint64_t>(to - from) : 0;
}

}  // namespace swipr::agent
