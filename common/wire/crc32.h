// CRC-32 as zlib and PNG have it (reflected, polynomial 0xEDB88320, initial and final inversion).
// Source: ISO 3309 / ITU-T V.42.
// Context: anywhere, signal handlers included.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace swipr::wire {

namespace detail {
constexpr std::array<std::uint32_t, 256> make_crc32_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t index = 0; index < 256; ++index) {
    std::uint32_t value = index;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1u) != 0 ? 0xEDB88320u : 0u);
    table[index] = value;
  }
  return table;
}
inline constexpr std::array<std::uint32_t, 256> kCrc32Table = make_crc32_table();
}  // namespace detail

inline std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t value = ~0u;
  for (std::byte byte : bytes) {
    value = (value >> 8) ^ detail::kCrc32Table[(value ^ static_cast<std::uint32_t>(byte)) & 0xFFu];
  }
  return ~value;
}

}  // namespace swipr::wire
