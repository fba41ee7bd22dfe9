// Writes JSON that is too large for a document in memory, piece by piece, to a Sink or a
// StringSink.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace swipr::exporters {

// A quoted string, cleaned by clean_text. "<" is escaped, so that the text may be inside an HTML
// script element.
std::string json_string(std::string_view text);

// ["name":][a,b,…] with `value_of(element)`: integers or JSON text. `name` may be empty.
template <typename Out, typename Elements, typename ValueOf>
void write_json_array(Out& sink, std::string_view name, const Elements& elements,
                      ValueOf value_of) {
  if (!name.empty()) sink.write(fmt::format("\"{}\":", name));
  char separator = '[';
  fmt::memory_buffer buffer;
  for (const auto& element : elements) {
    fmt::format_to(fmt::appender(buffer), "{}{}", separator, value_of(element));
    separator = ',';
    if (buffer.size() < 4096) continue;
    sink.write({buffer.data(), buffer.size()});
    buffer.clear();
  }
  if (separator == '[') buffer.push_back('[');
  buffer.push_back(']');
  sink.write({buffer.data(), buffer.size()});
}

struct StringSink {
  std::string text;
  void write(std::string_view bytes) { text += bytes; }
};

// An index as JSON: kNone is null.
std::string json_index(std::uint32_t index);

}  // namespace swipr::exporters
