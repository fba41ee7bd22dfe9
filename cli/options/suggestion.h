// "did you mean …?" for misspelt words of the command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace swipr::options {

// The known word that `word` most probably stands for: it begins with it, or one or two letters
// are wrong, missing, superfluous or swapped. Empty: none is near.
std::string find_similar(std::string_view word, std::span<const std::string> known);

}  // namespace swipr::options
