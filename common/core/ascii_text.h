// Text of protocols and settings: letters of ASCII only, whatever the locale. Signal-safe, never
// allocates.
#pragma once

#include <algorithm>
#include <string_view>

namespace swipr {

constexpr char to_lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

constexpr bool same_letter(char a, char b) noexcept { return to_lower(a) == to_lower(b); }

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_letter);
}

constexpr bool contains_ignoring_case(std::string_view text, std::string_view part) noexcept {
  return part.empty() ||
         std::search(text.begin(), text.end(), part.begin(), part.end(), same_letter) != text.end();
}

// Cuts spaces, tabs and carriage returns off both ends.
constexpr std::string_view trimmed(std::string_view text) noexcept {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace swipr
