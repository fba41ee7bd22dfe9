#include "preload/agent/proc/wait_channels.h"

#include <algorithm>
#include <cstring>

namespace swipr::agent {

namespace {
// Characters of C symbols, and of the suffixes that compilers add to parts of functions.
bool is_symbol_char(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}
}  // namespace

std::uint32_t WaitChannels::number_of(std::string_view text) noexcept {
  if (text.empty() || text.size() > kMaxChars || text == "0" ||
      !std::all_of(text.begin(), text.end(), is_symbol_char)) {
    return 0;
  }
  for (std::uint32_t index = 0; index < names_.size(); ++index) {
    Name& known = names_[index];
    if (known.size == 0) {
      known.size = static_cast<std::uint8_t>(text.size());
      std::memcpy(known.text, text.data(), text.size());
    }
    if (std::string_view(known.text, known.size) == text) return index + 1;
  }
  return 0;
}

std::string_view WaitChannels::name(std::uint32_t number) const noexcept {
  if (number == 0 || number > names_.size()) return {};
  return {names_[number - 1].text, names_[number - 1].size};
}

}  // namespace swipr::agent
