// Messages on stderr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/host/text/count_text.h"

namespace swipr::commands {

using host::counted;
using host::with_thousands;

// Prints "swipr: TEXT", cleaned by clean_text because names come from untrusted programs.
void print_note(std::string_view text);
// Ignores write errors.
void write_stderr(std::string_view text);
// Prints at most `limit` notes, then the number of the others.
void print_notes(std::span<const std::string> notes, std::size_t limit = 8);

// Width of the terminal at `fd`; 0: not a terminal.
std::size_t terminal_columns(int fd);

// True for a terminal with colours, unless NO_COLOR is set.
bool shows_colours(int fd);

// After this call a closed standard output (`| head`) ends the process with SIGPIPE and without
// a message. Only for commands that leave no partial file behind.
void end_without_reader();

// Quotes text as a word of a shell command line.
std::string shell_quoted(std::string_view text);

}  // namespace swipr::commands
