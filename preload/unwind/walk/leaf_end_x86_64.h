// Calls push their return address.
#pragma once

#include <cstdint>

namespace swipr::unwind {

template <typename ReadWord>
constexpr bool ends_as_leaf(std::uint64_t /*pc*/, ReadWord&& /*read_word*/) noexcept {
  return false;
}

}  // namespace swipr::unwind
