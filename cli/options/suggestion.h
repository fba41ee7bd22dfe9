// "did you mean …?" for misspelt words of the command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace swipr::options {

// Returns the known word that is closest to `word`: it starts with `word`, or differs in one or
// two letters. Empty: none.
std::string find_similar(std::string_view word, std::span<const std::string> known);

}  // namespace swipr::options
