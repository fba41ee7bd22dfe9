#include "preload/agent/base/text/fixed_text.h"

#include <cstring>

#include "preload/agent/base/text/text_view.h"

namespace swipr::agent {

namespace {

constexpr char kDigits[] = "0123456789abcdef";

// Bytes of the UTF-8 sequence at the start of `text`; 0: none. RFC 3629, section 4.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && at(1) < 0xa0) return 0;  // overlong
  if (first == 0xed && at(1) > 0x9f) return 0;  // surrogate
  if (first == 0xf0 && at(1) < 0x90) return 0;
  if (first == 0xf4 && at(1) > 0x8f) return 0;
  return length;
}

}  // namespace

TextWriter& TextWriter::append(std::string_view text) noexcept {
  if (text.size() > out_.size() - 1 - size_) {
    overflowed_ = true;
    return *this;
  }
  if (!text.empty()) std::memcpy(out_.data() + size_, text.data(), text.size());
  grow(text.size());
  return *this;
}

void TextWriter::grow(std::size_t bytes) noexcept {
  size_ += bytes;
  out_[size_] = '\0';
}

void TextWriter::resize(std::size_t size) noexcept {
  size_ = size;
  out_[size_] = '\0';
}

TextWriter& TextWriter::append_padded(std::uint64_t value, unsigned digits) noexcept {
  char text[20];  // 2^64 has 20 digits
  std::size_t begin = sizeof text;
  do {
    text[--begin] = kDigits[value % 10];
    value /= 10;
  } while (value != 0);
  while (sizeof text - begin < digits && begin > 0) text[--begin] = '0';
  return append({text + begin, sizeof text - begin});
}

TextWriter& TextWriter::append_number(std::uint64_t value) noexcept {
  return append_padded(value, 1);
}

TextWriter& TextWriter::append_hex(std::uint64_t value, unsigned min_digits) noexcept {
  char text[16];
  std::size_t begin = sizeof text;
  do {
    text[--begin] = kDigits[value % 16];
    value /= 16;
  } while (value != 0);
  while (sizeof text - begin < min_digits && begin > 0) text[--begin] = '0';
  return append({text + begin, sizeof text - begin});
}

TextWriter& TextWriter::append_json_string(std::string_view text) noexcept {
  append('"');
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      append("\xef\xbf\xbd");
    } else if (first < 0x20 || first == 0x7f) {
      append("\\u").append_hex(first, 4);
    } else {
      if (first == '"' || first == '\\') append('\\');
      append(leading(text, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return append('"');
}

}  // namespace swipr::agent
