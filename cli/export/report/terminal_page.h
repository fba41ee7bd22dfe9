// Lines of text for a terminal or a pipe, truncated to the width and optionally coloured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace swipr::exporters {

enum class Style : std::uint8_t {
  kPlain,
  kHeading,
  kFaint,
  kHot,
  kWarm,
  kRunning,
  kRunnable,
  kBlocked,
  kLanguage
};

class TerminalPage {
 public:
  // `columns` 0: no truncation.
  TerminalPage(std::size_t columns, bool coloured) : columns_(columns), coloured_(coloured) {}

  // Appends to the current line. The text is cleaned, so that names cannot control the terminal.
  TerminalPage& put(std::string_view text, Style style = Style::kPlain);
  void end_line();
  void line(std::string_view text, Style style = Style::kPlain) { put(text, style).end_line(); }

  std::size_t columns() const { return columns_; }
  const std::string& text() const { return text_; }

 private:
  std::size_t columns_;
  bool coloured_;
  struct Piece {
    std::string text;
    Style style;
  };
  std::vector<Piece> line_;
  std::string text_;
};

}  // namespace swipr::exporters
