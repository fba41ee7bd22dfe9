// Instructions of aarch64 in code that was read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace swipr::trace {

inline std::uint32_t word_at(std::span<const std::uint8_t> code, std::size_t at) noexcept {
  std::uint32_t word = 0;
  std::memcpy(&word, code.data() + at, sizeof word);
  return word;
}

}  // namespace swipr::trace
