// Lines for the person at stderr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace swipr::commands {

// "swipr: TEXT", cleaned as clean_text does: names come from programs that nobody vouches for.
void print_note(std::string_view text);
// Nothing happens when nobody reads it any more.
void write_stderr(std::string_view text);
// At most `limit` of them, then how many more there are.
void print_notes(std::span<const std::string> notes, std::size_t limit = 8);

// Width of the terminal at `fd`; 0: not a terminal.
std::size_t terminal_columns(int fd);

// A terminal that understands colours, and nobody has asked to do without (NO_COLOR).
bool shows_colours(int fd);

// From here on a reader of standard output that goes away (`| head`) ends the process with SIGPIPE
// and without a word, as it ends other filters. Only where no file is left half written then.
void end_without_reader();

// 1234567 → "1,234,567"
std::string with_thousands(std::uint64_t number);

// "1 thread", "1,000 threads"
std::string counted(std::uint64_t number, std::string_view noun);

// As a word of a shell command line.
std::string shell_quoted(std::string_view text);

}  // namespace swipr::commands
