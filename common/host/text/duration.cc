#include "common/host/text/duration.h"

#include <fmt/format.h>

#include <cstdint>

#include "common/core/duration_text.h"

namespace swipr::host {

namespace {

std::string two_units(std::int64_t value, std::int64_t divisor, std::string_view large,
                      std::string_view small) {
  if (value % divisor == 0) return fmt::format("{} {}", value / divisor, large);
  return fmt::format("{} {} {} {}", value / divisor, large, value % divisor, small);
}

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  std::chrono::nanoseconds duration{0};
  switch (parse_duration_text(text, duration)) {
    case DurationError::kNone:
      return duration;
    case DurationError::kTooLong:
      return Error(fmt::format("'{}' is too long a duration: the limit is 100 years", text));
    default:
      return Error(fmt::format(
          "'{}' is not a duration: write a number and a unit (ns, us, ms, s, min, h), as in 10ms",
          text));
  }
}

std::string format_exact_duration(std::chrono::nanoseconds duration) {
  const std::int64_t count = duration.count();
  if (count % 1'000'000'000 == 0) return fmt::format("{} s", count / 1'000'000'000);
  if (count % 1'000'000 == 0) return fmt::format("{} ms", count / 1'000'000);
  if (count % 1'000 == 0) return fmt::format("{} us", count / 1'000);
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
  const std::int64_t seconds = count / 1'000'000'000 + (count % 1'000'000'000 >= 500'000'000);
  if (seconds < 3'600) return two_units(seconds, 60, "min", "s");
  if (seconds < 86'400) return two_units(seconds / 60, 60, "h", "min");
  return two_units(seconds / 3'600, 24, "d", "h");
}

}  // namespace swipr::host
