// A hash of bytes: for hash tables, and to detect changes.
// Context: anywhere, signal handlers included.  Allocates: never.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace swipr::unwind {

// Multiplication propagates every bit upwards, the shift downwards. The constant is 2^64 divided by
// the golden ratio, odd.
constexpr std::uint64_t hash_word(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

inline std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t hash) noexcept {
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const auto part = bytes.first(std::min(bytes.size(), sizeof word));
    std::memcpy(&word, part.data(), part.size());
    hash = hash_word(hash, word);
    bytes = bytes.subspan(part.size());
  }
  return hash;
}

}  // namespace swipr::unwind
