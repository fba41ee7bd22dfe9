#include "cli/fleet/resource_attributes.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "common/core/ascii_text.h"

namespace swipr::fleet {

namespace {

// Invalid sequences are kept.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t index = 0; index < text.size(); ++index) {
    unsigned char byte = 0;
    const char* const digits = text.data() + index + 1;
    const bool is_escape = text[index] == '%' && index + 2 < text.size() &&
                           std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    out += is_escape ? static_cast<char>(byte) : text[index];
    if (is_escape) index += 2;
  }
  return out;
}

}  // namespace

std::string find_attribute(std::string_view attributes, std::string_view name) {
  while (!attributes.empty()) {
    const std::size_t end = std::min(attributes.find(','), attributes.size());
    const std::string_view pair = attributes.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos && trimmed(pair.substr(0, equals)) == name) {
      return percent_decoded(trimmed(pair.substr(equals + 1)));
    }
    attributes.remove_prefix(std::min(end + 1, attributes.size()));
  }
  return {};
}

}  // namespace swipr::fleet
