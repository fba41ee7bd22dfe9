#include "cli/export/report/terminal_page.h"

#include "cli/export/text/text.h"

namespace swipr::exporters {

namespace {

// The 16 standard colours of terminals.
std::string_view sequence_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kHeading:
      return "\033[1m";
    case Style::kFaint:
      return "\033[2m";
    case Style::kHot:
      return "\033[1;31m";
    case Style::kWarm:
      return "\033[33m";
    case Style::kRunning:
      return "\033[32m";
    case Style::kRunnable:
      return "\033[33m";
    case Style::kBlocked:
      return "\033[34m";
    case Style::kLanguage:
      return "\033[35m";
  }
  return "";
}

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

// Bytes of the first `characters` characters, or all.
std::size_t prefix_bytes(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && characters-- == 0) break;
  }
  return at;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += begins_character(byte) ? 1 : 0;
  return count;
}

}  // namespace

TerminalPage& TerminalPage::put(std::string_view text, Style style) {
  line_.push_back({clean_text(text), style});
  return *this;
}

void TerminalPage::end_line() {
  std::size_t length = 0;
  for (const Piece& piece : line_) length += count_characters(piece.text);
  const bool too_long = columns_ != 0 && length > columns_;
  std::size_t room = too_long ? columns_ - 1 : length;
  for (const Piece& piece : line_) {
    const std::string_view shown(piece.text.data(), prefix_bytes(piece.text, room));
    room -= count_characters(shown);
    if (shown.empty()) continue;
    const std::string_view sequence = coloured_ ? sequence_of(piece.style) : "";
    text_ += sequence;
    text_ += shown;
    if (!sequence.empty()) text_ += "\033[0m";
  }
  if (too_long) text_ += "…";
  text_ += '\n';
  line_.clear();
}

}  // namespace swipr::exporters
