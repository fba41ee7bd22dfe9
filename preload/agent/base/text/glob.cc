#include "preload/agent/base/text/glob.h"

#include <cstddef>

#include "preload/agent/base/text/text_view.h"

namespace swipr::agent {

bool matches_glob(std::string_view pattern, std::string_view text) noexcept {
  constexpr std::size_t kNoStar = std::string_view::npos;
  std::size_t at = 0;
  std::size_t star = kNoStar;  // the last * seen …
  std::size_t star_text = 0;  // … and the text it is tried to end at: only the last one can matter
  for (std::size_t i = 0; i < text.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_text = i;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[i])) {
      ++at;
      ++i;
    } else if (star != kNoStar) {
      at = star + 1;
      i = ++star_text;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

bool matches_any_glob(std::string_view patterns, std::string_view text) noexcept {
  while (!patterns.empty()) {
    const std::size_t comma = patterns.find(',');
    std::string_view pattern = leading(patterns, comma);
    patterns.remove_prefix(comma == std::string_view::npos ? patterns.size() : comma + 1);
    while (!pattern.empty() && pattern.front() == ' ') pattern.remove_prefix(1);
    while (!pattern.empty() && pattern.back() == ' ') pattern.remove_suffix(1);
    if (!pattern.empty() && matches_glob(pattern, text)) return true;
  }
  return false;
}

}  // namespace swipr::agent
