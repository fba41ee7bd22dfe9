// A label as text, and the labels of a thread at one moment. Context: anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace swipr::labels {

inline constexpr std::uint32_t kMostLabels = 8;     // of a thread at a time
inline constexpr std::size_t kMostTextBytes = 126;  // key and value together
inline constexpr std::size_t kMostKeyBytes = 63;

// The key, then the value. The layout is that of swipr_label_scope in include/swipr/swipr.h.
struct Label {
  std::uint8_t key_bytes;
  std::uint8_t value_bytes;
  char text[kMostTextBytes];

  std::string_view key() const noexcept { return {text, key_bytes}; }
  std::string_view value() const noexcept { return {text + key_bytes, value_bytes}; }
};
static_assert(sizeof(Label) == 128);

// In no order; each key once. Zeroed memory: none.
struct LabelSet {
  std::uint32_t count;
  Label labels[kMostLabels];
};

}  // namespace swipr::labels
