// Shell patterns for program names: * any run of characters, ? any one. No classes, no escapes.
// Context: anywhere.
#pragma once

#include <string_view>

namespace swipr::agent {

// Bounds: pattern × text steps.
bool matches_glob(std::string_view pattern, std::string_view text) noexcept;
// `patterns` separated by commas; blanks around them and empty ones are ignored.
bool matches_any_glob(std::string_view patterns, std::string_view text) noexcept;

}  // namespace swipr::agent
