#include "common/host/text/clean_text.h"

#include <fmt/format.h>

#include <cstdint>

namespace swipr::host {

namespace {

bool is_continuation(std::string_view text, std::size_t index) {
  return index < text.size() && (static_cast<unsigned char>(text[index]) & 0xC0) == 0x80;
}

// Length of the UTF-8 sequence at `index`; 0: none. Overlong forms and surrogates are none either.
// Source: Unicode 15, table 3-7.
std::size_t sequence_length(std::string_view text, std::size_t index) {
  const auto first = static_cast<unsigned char>(text[index]);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t next = 1; next < length; ++next) {
    if (!is_continuation(text, index + next)) return 0;
  }
  const auto second = static_cast<unsigned char>(text[index + 1]);
  const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

// Of a valid sequence of two or three bytes, which all controls beyond ASCII have; 0: longer.
std::uint32_t code_point(std::string_view sequence) {
  const auto bits = [sequence](std::size_t index, unsigned mask) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(sequence[index]) & mask);
  };
  if (sequence.size() == 2) return bits(0, 0x1F) << 6 | bits(1, 0x3F);
  if (sequence.size() == 3) return bits(0, 0x0F) << 12 | bits(1, 0x3F) << 6 | bits(2, 0x3F);
  return 0;
}

// Source: Unicode 15, categories Cc, Zl and Zp, and UAX #9, section 2.
bool is_control(std::uint32_t code) {
  return (code >= 0x80 && code <= 0x9F) || code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t index = 0; index < text.size();) {
    const std::size_t length = sequence_length(text, index);
    const auto byte = static_cast<unsigned char>(text[index]);
    const std::string_view sequence = text.substr(index, length);
    if (length == 0) {
      clean += '?';
    } else if (byte < 0x20 || byte == 0x7F) {
      clean += ' ';
    } else if (const std::uint32_t code = length > 1 ? code_point(sequence) : 0; is_control(code)) {
      clean += fmt::format("\\u{:04x}", code);
    } else {
      clean += sequence;
    }
    index += length == 0 ? 1 : length;
  }
  return clean;
}

std::string escape_text(std::string_view text, Literal literal) {
  const bool is_c = literal == Literal::kC;
  std::string escaped;
  for (std::size_t index = 0; index < text.size();) {
    const std::size_t length = sequence_length(text, index);
    const auto byte = static_cast<unsigned char>(text[index]);
    const std::string_view sequence = text.substr(index, length);
    index += length == 0 ? 1 : length;
    if (length == 0) {
      escaped += is_c ? fmt::format("\\x{:02x}", byte) : "\\ufffd";
    } else if (byte == '"' || byte == '\\') {
      escaped += {'\\', text[index - 1]};
    } else if (const auto name = std::string_view("\n\r\t").find(static_cast<char>(byte));
               name != std::string_view::npos) {
      escaped += {'\\', "nrt"[name]};
    } else if (byte < 0x20 || byte == 0x7F) {
      escaped += fmt::format(fmt::runtime(is_c ? "\\x{:02x}" : "\\u{:04x}"), byte);
    } else if (const std::uint32_t code = length > 1 ? code_point(sequence) : 0; is_control(code)) {
      escaped += fmt::format("\\u{:04x}", code);
    } else {
      escaped += sequence;
    }
  }
  return escaped;
}

std::string_view whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const std::size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return length > back ? text.substr(0, text.size() - back) : text;
  }
  return text;
}

}  // namespace swipr::host
