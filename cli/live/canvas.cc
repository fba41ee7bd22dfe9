#include "cli/live/canvas.h"

#include <wchar.h>

#include <algorithm>

namespace swipr::live {

namespace {

struct Character {
  char32_t code = U'?';
  std::size_t bytes = 1;
};

// A damaged or overlong sequence is one byte of "?".
Character decode(std::string_view text) {
  const auto byte = [&text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first < 0x20 || first == 0x7f ? U'?' : char32_t{first}, 1};
  const std::size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < count) return {};
  char32_t code = first & (0xffu >> (count + 1));
  for (std::size_t at = 1; at < count; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(at) & 0x3fu);
  }
  const bool is_control = code < 0xa0;
  return is_control ? Character{} : Character{code, count};
}

std::size_t width_of(char32_t code) {
  if (code < 0x300) return 1;
  const int width = ::wcwidth(static_cast<wchar_t>(code));
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

}  // namespace

Canvas::Canvas(std::size_t columns, std::size_t rows, bool has_utf8)
    : columns_(columns), has_utf8_(has_utf8), cells_(rows, std::vector<Cell>(columns)) {}

std::size_t Canvas::put(std::size_t row, std::size_t column, std::string_view text,
                        std::size_t width, Style style) {
  if (row >= cells_.size()) return column;
  const std::size_t end = std::min(columns_, column + width);
  while (!text.empty()) {
    const Character character = decode(text);
    const bool is_known = character.code < 0x80 || has_utf8_;
    const std::size_t wide = is_known ? width_of(character.code) : 1;
    const bool is_shown = wide != 0 && character.code != 0x202e;
    if (is_shown && column + wide > end) break;
    if (is_shown) {
      const bool is_whole = is_known && (character.code != U'?' || text.front() == '?');
      cells_[row][column] = {is_whole ? std::string(text.substr(0, character.bytes)) : "?", style};
      if (wide == 2) cells_[row][column + 1] = {"", style};
      column += wide;
    }
    text.remove_prefix(character.bytes);
  }
  return column;
}

void Canvas::put_right(std::size_t row, std::size_t end, std::string_view text, Style style) {
  put(row, end > text.size() ? end - text.size() : 0, text, text.size(), style);
}

void Canvas::set_style(std::size_t row, std::size_t column, std::size_t width, Style style) {
  if (row >= cells_.size()) return;
  for (std::size_t at = column; at < std::min(columns_, column + width); ++at) {
    cells_[row][at].style = style;
  }
}

std::string Canvas::plain() const {
  std::string text;
  for (const std::vector<Cell>& cells : cells_) {
    std::string line;
    for (const Cell& cell : cells) line += cell.text;
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace swipr::live
