#include "preload/agent/serve/request/json_request.h"

namespace swipr::agent {

namespace {

using namespace std::string_view_literals;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) noexcept {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// RFC 8259, section 6.
bool is_number(std::string_view text) noexcept {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = at;
  at = skip_digits(text, at);
  if (at == whole || (text[whole] == '0' && at > whole + 1)) return false;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = at + 1;
    at = skip_digits(text, fraction);
    if (at == fraction) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t exponent = at;
    at = skip_digits(text, exponent);
    if (at == exponent) return false;
  }
  return at == text.size();
}

// At most 4 bytes; a \u escape has at least 6, so decoding in place never overtakes reading.
std::size_t write_utf8(std::uint32_t code, char* out) noexcept {
  const auto tail = [code](unsigned shift) {
    return static_cast<char>(0x80 | ((code >> shift) & 0x3f));
  };
  if (code < 0x80) {
    out[0] = static_cast<char>(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = static_cast<char>(0xc0 | (code >> 6));
    out[1] = tail(0);
    return 2;
  }
  if (code < 0x10000) {
    out[0] = static_cast<char>(0xe0 | (code >> 12));
    out[1] = tail(6);
    out[2] = tail(0);
    return 3;
  }
  out[0] = static_cast<char>(0xf0 | (code >> 18));
  out[1] = tail(12);
  out[2] = tail(6);
  out[3] = tail(0);
  return 4;
}

}  // namespace

bool JsonObjectReader::fail() noexcept {
  state_ = State::kFailed;
  return false;
}

void JsonObjectReader::skip_blanks() noexcept {
  while (!at_end() && " \t\r\n"sv.find(text_[at_]) != std::string_view::npos) ++at_;
}

bool JsonObjectReader::take(char expected) noexcept {
  skip_blanks();
  if (at_end() || text_[at_] != expected) return false;
  ++at_;
  return true;
}

bool JsonObjectReader::finish() noexcept {
  skip_blanks();
  if (!at_end()) return fail();
  state_ = State::kEnd;
  return false;
}

bool JsonObjectReader::next(JsonField& out) noexcept {
  if (state_ == State::kEnd || state_ == State::kFailed) return false;
  if (state_ == State::kStart) {
    if (!take('{')) return fail();
    state_ = State::kFields;
    if (take('}')) return finish();
  } else if (take('}')) {
    return finish();
  } else if (!take(',')) {
    return fail();
  }
  skip_blanks();
  if (!read_string(out.name) || !take(':')) return fail();
  skip_blanks();
  return read_value(out) || fail();
}

bool JsonObjectReader::read_value(JsonField& out) noexcept {
  if (at_end()) return false;
  switch (text_[at_]) {
    case '"':
      out.kind = JsonField::Kind::kString;
      return read_string(out.text);
    case '{':
    case '[':
      out.kind = JsonField::Kind::kComposite;
      out.text = {};
      return skip_composite();
    default:
      return read_word(out);
  }
}

bool JsonObjectReader::read_word(JsonField& out) noexcept {
  const std::size_t start = at_;
  while (!at_end() && ",}] \t\r\n"sv.find(text_[at_]) == std::string_view::npos) ++at_;
  out.text = {text_.data() + start, at_ - start};
  if (out.text == "true"sv || out.text == "false"sv) {
    out.kind = JsonField::Kind::kBool;
  } else if (out.text == "null"sv) {
    out.kind = JsonField::Kind::kNull;
  } else if (is_number(out.text)) {
    out.kind = JsonField::Kind::kNumber;
  } else {
    return false;
  }
  return true;
}

bool JsonObjectReader::skip_composite() noexcept {
  constexpr std::size_t kMaxDepth = 32;
  char open[kMaxDepth];
  std::size_t depth = 0;
  do {
    if (at_end()) return false;
    const char c = text_[at_];
    std::string_view ignored;
    if (c == '"') {
      if (!read_string(ignored)) return false;
      continue;
    }
    ++at_;
    if (c == '{' || c == '[') {
      if (depth == kMaxDepth) return false;
      open[depth++] = c;
    } else if (c == '}' || c == ']') {
      if (open[--depth] != (c == '}' ? '{' : '[')) return false;
    }
  } while (depth > 0);
  return true;
}

bool JsonObjectReader::read_string(std::string_view& out) noexcept {
  if (at_end() || text_[at_] != '"') return false;
  const std::size_t start = ++at_;
  std::size_t write = start;
  while (!at_end()) {
    const char c = text_[at_++];
    if (c == '"') {
      out = {text_.data() + start, write - start};
      return true;
    }
    if (static_cast<unsigned char>(c) < 0x20) return false;
    if (c != '\\') {
      text_[write++] = c;
    } else if (!read_escape(write)) {
      return false;
    }
  }
  return false;
}

bool JsonObjectReader::read_escape(std::size_t& write) noexcept {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (at_end()) return false;
  const char letter = text_[at_++];
  const std::size_t known = kLetters.find(letter);
  if (known != std::string_view::npos) {
    text_[write++] = kMeanings[known];
    return true;
  }
  std::uint32_t code = 0;
  if (letter != 'u' || !read_hex4(code)) return false;
  if (code >= 0xdc00 && code <= 0xdfff) return false;  // second half of a pair on its own
  if (code >= 0xd800 && code <= 0xdbff) {
    std::uint32_t low = 0;
    if (text_.size() - at_ < 6 || text_[at_] != '\\' || text_[at_ + 1] != 'u') return false;
    at_ += 2;
    if (!read_hex4(low) || low < 0xdc00 || low > 0xdfff) return false;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  write += write_utf8(code, text_.data() + write);
  return true;
}

bool JsonObjectReader::read_hex4(std::uint32_t& out) noexcept {
  if (text_.size() - at_ < 4) return false;
  for (int i = 0; i < 4; ++i) {
    const char c = text_[at_++];
    std::uint32_t digit = 0;
    if (is_digit(c)) {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<std::uint32_t>(c - 'A' + 10);
    } else {
      return false;
    }
    out = out * 16 + digit;
  }
  return true;
}

}  // namespace swipr::agent
