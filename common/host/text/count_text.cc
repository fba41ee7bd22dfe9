#include "common/host/text/count_text.h"

#include <fmt/format.h>

namespace swipr::host {

std::string with_thousands(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", with_thousands(number), noun, number == 1 ? "" : "s");
}

}  // namespace swipr::host
