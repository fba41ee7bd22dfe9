// Parses durations such as "10ms", "1.5 s", "2min". Shared by the library and the command, so
// that both accept the same text with the same limit. Signal-safe, never allocates.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/core/ascii_text.h"

namespace swipr {

// 100 years of 365 days. Added to any clock of the kernel it stays far below 2^63 ns.
inline constexpr std::chrono::nanoseconds kMaxDuration = std::chrono::hours(24 * 365 * 100);

enum class DurationError : std::uint8_t { kNone, kNoNumber, kNoUnit, kUnknownUnit, kTooLong };

namespace duration_text_detail {

struct Unit {
  std::string_view name;
  std::uint64_t ns;
};

inline constexpr std::array kUnits = {
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"\xc2\xb5s", 1'000},  // µ, micro sign
    Unit{"\xce\xbcs", 1'000},  // μ, Greek letter
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"min", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};

// Cuts the digits off the front of `text` and returns them.
constexpr std::string_view take_digits(std::string_view& text) noexcept {
  std::size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  const std::string_view digits(text.data(), count);  // substr() can throw, which a preload cannot
  text.remove_prefix(count);
  return digits;
}

// Nanoseconds of ".digits" of a unit; digits finer than a nanosecond add nothing.
constexpr std::uint64_t fraction_ns(std::string_view digits, std::uint64_t unit_ns) noexcept {
  std::uint64_t sum = 0;
  for (const char digit : digits) {
    unit_ns /= 10;
    sum += static_cast<std::uint64_t>(digit - '0') * unit_ns;
  }
  return sum;
}

}  // namespace duration_text_detail

// A number, optionally with a fraction, and a unit (ns, us, µs, ms, s, min, h), blanks allowed
// around both. `unit_when_absent` is the unit of a bare number; 0 ns: a bare number is refused.
// Errors: `out` keeps its value.
inline DurationError parse_duration_text(std::string_view text, std::chrono::nanoseconds& out,
                                         std::chrono::nanoseconds unit_when_absent = {}) noexcept {
  using namespace duration_text_detail;
  text = trimmed(text);
  const std::string_view digits = take_digits(text);
  if (digits.empty()) return DurationError::kNoNumber;
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits(text);
    if (fraction.empty()) return DurationError::kNoNumber;
  }
  text = trimmed(text);
  std::uint64_t unit_ns = 0;
  if (text.empty()) {
    if (unit_when_absent.count() == 0) return DurationError::kNoUnit;
    unit_ns = static_cast<std::uint64_t>(unit_when_absent.count());
  }
  for (const Unit& unit : kUnits) {
    if (unit.name == text) unit_ns = unit.ns;
  }
  if (unit_ns == 0) return DurationError::kUnknownUnit;
  constexpr auto kMax = static_cast<std::uint64_t>(kMaxDuration.count());
  std::uint64_t whole = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
  if (parsed.ec != std::errc() || whole > kMax / unit_ns) return DurationError::kTooLong;
  const std::uint64_t total = whole * unit_ns + fraction_ns(fraction, unit_ns);
  if (total > kMax) return DurationError::kTooLong;
  out = std::chrono::nanoseconds(static_cast<std::int64_t>(total));
  return DurationError::kNone;
}

}  // namespace swipr
