// Durations as people write them: "10ms", "1.5 s", "2min".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/host/result.h"

namespace swipr::host {

// A number, optionally with a fraction, and one of ns, us, µs, ms, s, min, h; a blank between them
// is allowed. A number without a unit is refused: ten what? Errors: not of this shape; more than
// 100 years.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// The largest of s, ms, us, ns that holds `duration` as a whole number: "10 ms", "1500 us". Exact.
std::string format_exact_duration(std::chrono::nanoseconds duration);

// For reading, two significant units at most: "820 us", "12.3 ms", "4.1 s", "3 min 20 s", "2 d 5
// h".
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace swipr::host
