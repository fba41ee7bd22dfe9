// Text of durations: "10ms", "1.5 s", "2min".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/host/result.h"

namespace swipr::host {

// A number, optionally with a fraction, and one of ns, us, µs, ms, s, min, h, optionally
// separated by a blank. The unit is required.
// Errors: invalid text; more than 100 years.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// Exact text in the largest of s, ms, us, ns that gives a whole number: "10 ms", "1500 us".
std::string format_exact_duration(std::chrono::nanoseconds duration);

// Rounded text with at most two units: "820 us", "12.3 ms", "4.1 s", "3 min 20 s", "2 d 5 h".
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace swipr::host
