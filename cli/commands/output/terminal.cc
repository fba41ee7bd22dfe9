#include "cli/commands/output/terminal.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "common/host/text/clean_text.h"

namespace swipr::commands {

void print_note(std::string_view text) {
  write_stderr(fmt::format("swipr: {}\n", host::clean_text(text)));
}

// fmt::print would throw if the reader has closed the pipe.
void write_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void print_notes(std::span<const std::string> notes, std::size_t limit) {
  for (const std::string& note : notes.first(std::min(limit, notes.size()))) print_note(note);
  if (notes.size() > limit)
    print_note(fmt::format("… and {} more notes like these", notes.size() - limit));
}

void end_without_reader() { ::signal(SIGPIPE, SIG_DFL); }

std::size_t terminal_columns(int fd) {
  if (::isatty(fd) != 1) return 0;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool shows_colours(int fd) {
  const char* kind = std::getenv("TERM");
  const char* refused = std::getenv("NO_COLOR");
  const bool understands = kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
  return ::isatty(fd) == 1 && understands && (refused == nullptr || *refused == '\0');
}

std::string shell_quoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace swipr::commands
