// What samples have in common that are added up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cli/profile/recording.h"

namespace swipr::profile {

struct SampleKind {
  std::uint32_t thread;
  std::uint32_t stack;
  State state;
  friend bool operator==(const SampleKind&, const SampleKind&) = default;
};

struct SampleKindHash {
  std::size_t operator()(const SampleKind& kind) const {
    const std::uint64_t both = (std::uint64_t{kind.thread} << 32) | kind.stack;
    // Fibonacci hashing: neighbouring indexes spread over the whole table.
    return (both * 4 + static_cast<std::uint64_t>(kind.state)) * 0x9E3779B97F4A7C15u >> 16;
  }
};

}  // namespace swipr::profile
