#include "cli/export/text/json_text.h"

#include "cli/export/text/text.h"

namespace swipr::exporters {

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (char c : clean_text(text)) {
    if (c == '<') {
      quoted += "\\u003c";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string json_index(std::uint32_t index) {
  return index == profile::kNone ? "null" : std::to_string(index);
}

}  // namespace swipr::exporters
