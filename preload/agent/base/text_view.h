// Parts of texts. string_view::substr with a start is not used in the preload: it can throw, by a
// function of libstdc++.
// Context: anywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace swipr::agent {

// Without the first `count` characters; empty if there are no more.
constexpr std::string_view skip(std::string_view text, std::size_t count) noexcept {
  text.remove_prefix(std::min(count, text.size()));
  return text;
}

}  // namespace swipr::agent
