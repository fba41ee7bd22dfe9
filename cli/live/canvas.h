// A screen of characters. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace swipr::live {

enum class Style : std::uint8_t { kNormal, kBold, kFaint, kSelected, kMore, kLess };

struct Cell {
  std::string text = " ";  // one character; empty: the right half of the one before
  Style style = Style::kNormal;
  friend bool operator==(const Cell&, const Cell&) = default;
};

class Canvas {
 public:
  // `has_utf8` false: other characters than ASCII become "?".
  Canvas(std::size_t columns, std::size_t rows, bool has_utf8);

  std::size_t columns() const { return columns_; }
  std::size_t rows() const { return cells_.size(); }
  bool has_utf8() const { return has_utf8_; }
  const std::vector<Cell>& row(std::size_t at) const { return cells_[at]; }

  // Cuts what is wider than `width`, or the screen. Control characters and bytes that are not UTF-8
  // become "?". Returns the column behind the text.
  std::size_t put(std::size_t row, std::size_t column, std::string_view text, std::size_t width,
                  Style style = Style::kNormal);
  // The same, to the left of `end`.
  void put_right(std::size_t row, std::size_t end, std::string_view text,
                 Style style = Style::kNormal);
  void set_style(std::size_t row, std::size_t column, std::size_t width, Style style);

  // Lines without trailing blanks.
  std::string plain() const;

 private:
  std::size_t columns_;
  bool has_utf8_;
  std::vector<std::vector<Cell>> cells_;
};

}  // namespace swipr::live
