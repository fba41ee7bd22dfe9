#include "common/host/duration.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cstdint>
#include <limits>
#include <optional>

namespace swipr::host {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array kUnits = {
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"µs", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"min", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};

std::optional<std::int64_t> find_unit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.nanoseconds;
  }
  return std::nullopt;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Takes the digits at the front of `text`; `scale` becomes ten to their number. nullopt: too many.
std::optional<std::uint64_t> take_digits(std::string_view& text, std::uint64_t& scale) {
  constexpr std::size_t kMaxDigits = 18;  // fits 64 bits
  std::uint64_t value = 0;
  std::size_t count = 0;
  scale = 1;
  while (count < text.size() && is_digit(text[count])) {
    if (++count > kMaxDigits) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(text[count - 1] - '0');
    scale *= 10;
  }
  text.remove_prefix(count);
  return value;
}

Error not_a_duration(std::string_view text) {
  return Error(fmt::format(
      "'{}' is not a duration: write a number and a unit (ns, us, ms, s, min, h), as in 10ms",
      text));
}

std::string two_units(std::int64_t value, std::int64_t divisor, std::string_view large,
                      std::string_view small) {
  if (value % divisor == 0) return fmt::format("{} {}", value / divisor, large);
  return fmt::format("{} {} {} {}", value / divisor, large, value % divisor, small);
}

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  std::string_view rest = text;
  if (rest.empty() || !is_digit(rest.front())) return not_a_duration(text);
  std::uint64_t scale = 1;
  const auto whole = take_digits(rest, scale);
  if (!whole) return not_a_duration(text);
  std::uint64_t fraction = 0;
  std::uint64_t fraction_scale = 1;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    if (rest.empty() || !is_digit(rest.front())) return not_a_duration(text);
    const auto digits = take_digits(rest, fraction_scale);
    if (!digits) return not_a_duration(text);
    fraction = *digits;
  }
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  const auto unit = find_unit(rest);
  if (!unit) return not_a_duration(text);

  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto unit_ns = static_cast<std::uint64_t>(*unit);
  if (*whole > kMax / unit_ns - 1) {
    return Error(fmt::format("'{}' is too long a duration", text));
  }
  // Below one unit: long double holds 64 bits of mantissa, so this is exact to the nanosecond.
  const auto part = static_cast<long double>(fraction) * static_cast<long double>(unit_ns) /
                    static_cast<long double>(fraction_scale);
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(*whole * unit_ns + static_cast<std::uint64_t>(part + 0.5L)));
}

std::string format_exact_duration(std::chrono::nanoseconds duration) {
  const std::int64_t count = duration.count();
  for (std::string_view name : {"s", "ms", "us"}) {
    const std::int64_t unit = *find_unit(name);
    if (count % unit == 0) return fmt::format("{} {}", count / unit, name);
  }
  return fmt::format("{} ns", count);
}

std::string format_duration(std::chrono::nanoseconds duration) {
  const std::int64_t count = duration.count();
  const auto number = static_cast<double>(count);
  if (count == 0) return "0 s";
  if (count < 1'000) return fmt::format("{} ns", count);
  if (count < 1'000'000) return fmt::format("{:.3g} us", number / 1e3);
  if (count < 999'500'000) return fmt::format("{:.3g} ms", number / 1e6);
  if (count < 59'950'000'000) return fmt::format("{:.3g} s", number / 1e9);
  const std::int64_t seconds = (count + 500'000'000) / 1'000'000'000;
  if (seconds < 3'600) return two_units(seconds, 60, "min", "s");
  if (seconds < 86'400) return two_units(seconds / 60, 60, "h", "min");
  return two_units(seconds / 3'600, 24, "d", "h");
}

}  // namespace swipr::host
