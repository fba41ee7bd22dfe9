#include "cli/terminal/terminal.h"

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/live/view.h"

namespace swipr::terminal {

namespace {

constexpr short kRed = 1;
constexpr short kBlue = 2;

chtype attributes_of(live::Style style, bool has_colours) {
  switch (style) {
    case live::Style::kNormal:
      return A_NORMAL;
    case live::Style::kBold:
      return A_BOLD;
    case live::Style::kFaint:
      return A_DIM;
    case live::Style::kSelected:
      return A_REVERSE;
    case live::Style::kMore:
      return has_colours ? static_cast<chtype>(COLOR_PAIR(kRed)) : A_BOLD;
    case live::Style::kLess:
      return has_colours ? static_cast<chtype>(COLOR_PAIR(kBlue)) : A_DIM;
  }
  return A_NORMAL;
}

int key_of(int code) {
  switch (code) {
    case KEY_UP:
      return live::kKeyUp;
    case KEY_DOWN:
      return live::kKeyDown;
    case KEY_PPAGE:
      return live::kKeyPageUp;
    case KEY_NPAGE:
      return live::kKeyPageDown;
    case '\t':
      return live::kKeyTab;
    case KEY_BTAB:
      return live::kKeyBackTab;
    case '\n':
    case '\r':
    case KEY_ENTER:
      return live::kKeyEnter;
    case 27:
      return live::kKeyEscape;
    case KEY_BACKSPACE:
    case 127:
    case 8:
      return live::kKeyBackspace;
    default:
      return code;
  }
}

}  // namespace

host::Result<Terminal> Terminal::open() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
    return host::Error("no terminal");
  }
  ::setlocale(LC_CTYPE, "");
  Terminal terminal;
  terminal.has_utf8_ = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  // initscr() would end the process.
  if (::newterm(nullptr, stdout, stdin) == nullptr) {
    return host::Error("the terminal type (TERM) is unknown");
  }
  terminal.is_open_ = true;
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::set_escdelay(50);
  ::curs_set(0);
  terminal.has_colours_ = ::has_colors() && std::getenv("NO_COLOR") == nullptr;
  if (terminal.has_colours_) {
    ::start_color();
    ::use_default_colors();
    ::init_pair(kRed, COLOR_RED, -1);
    ::init_pair(kBlue, COLOR_BLUE, -1);
  }
  return terminal;
}

Terminal::Terminal(Terminal&& other) noexcept
    : is_open_(other.is_open_), has_utf8_(other.has_utf8_), has_colours_(other.has_colours_) {
  other.is_open_ = false;
}

Terminal::~Terminal() {
  if (is_open_) ::endwin();
}

std::size_t Terminal::columns() const { return static_cast<std::size_t>(getmaxx(stdscr)); }
std::size_t Terminal::rows() const { return static_cast<std::size_t>(getmaxy(stdscr)); }

void Terminal::resize() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return;
  ::resizeterm(size.ws_row, size.ws_col);
  ::clearok(curscr, TRUE);
}

void Terminal::show(const live::Canvas& canvas) {
  ::erase();
  for (std::size_t row = 0; row < canvas.rows(); ++row) {
    const auto& cells = canvas.row(row);
    for (std::size_t at = 0; at < cells.size(); ++at) {
      if (cells[at].text.empty()) continue;
      ::attrset(static_cast<int>(attributes_of(cells[at].style, has_colours_)));
      ::mvaddstr(static_cast<int>(row), static_cast<int>(at), cells[at].text.c_str());
    }
  }
  ::attrset(A_NORMAL);
  ::refresh();
}

std::optional<int> Terminal::try_take_key() {
  const int code = ::getch();
  if (code == ERR) return std::nullopt;
  return key_of(code);
}

}  // namespace swipr::terminal
