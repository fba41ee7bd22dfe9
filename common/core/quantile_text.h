// Quantiles as text: "p95", "p99.9".
// Context: anywhere.  Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace swipr {

inline constexpr std::uint64_t kQuantileUnits = 100'000;

// The share of values that are not larger, of kQuantileUnits: from 0.001 to 99.999 percent.
// nullopt: the text is none.
constexpr std::optional<std::uint64_t> parse_quantile(std::string_view text) noexcept {
  if (text.size() < 2 || text[0] != 'p') return std::nullopt;
  std::uint64_t value = 0;
  std::uint64_t unit = kQuantileUnits / 10;  // of the first digit, if there are two
  std::size_t digits = 0;
  while (digits < 2 && 1 + digits < text.size() && text[1 + digits] != '.') ++digits;
  if (digits == 0) return std::nullopt;
  if (digits == 1) unit /= 10;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (at == 1 + digits) {
      if (text[at] != '.' || at + 1 == text.size()) return std::nullopt;
      continue;
    }
    if (text[at] < '0' || text[at] > '9' || unit == 0) return std::nullopt;
    value += unit * static_cast<std::uint64_t>(text[at] - '0');
    unit /= 10;
  }
  return value != 0 ? std::optional(value) : std::nullopt;
}

}  // namespace swipr
