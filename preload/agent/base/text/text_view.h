// Parts of texts. The preload does without string_view::substr: it can throw, by a function of
// libstdc++, and whether the compiler proves that it does not depends on what is inlined.
// Context: anywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace swipr::agent {

// The first `count` characters, or all.
constexpr std::string_view leading(std::string_view text, std::size_t count) noexcept {
  return {text.data(), std::min(count, text.size())};
}

// Without the first `count` characters; empty if there are no more.
constexpr std::string_view skip(std::string_view text, std::size_t count) noexcept {
  text.remove_prefix(std::min(count, text.size()));
  return text;
}

}  // namespace swipr::agent
