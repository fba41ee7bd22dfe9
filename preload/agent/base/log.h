// Lines to where SWIPR_LOG points, nothing at all without it. Never from the signal handler.
#pragma once

#include <cstdint>
#include <string_view>

namespace swipr::agent {

enum class LogLevel : std::uint8_t { kError, kWarning, kInfo, kDebug };

// "error", "warning", "info", "debug"; anything else: kInfo.
LogLevel parse_log_level(std::string_view text) noexcept;

// Takes down where lines go and which file descriptor 2 is: a program may put one of its own there
// later. `destination`, NUL-terminated, must stay: empty or "0" for none; "1" or "stderr"; or a
// file to append to.
// Context: the constructor.
void configure_log(std::string_view destination, LogLevel level) noexcept;

// Opens the destination in the control thread's own descriptor table: log_line from here on.
// Context: control thread.
void open_log() noexcept;

// Drops the line where it cannot be written at once; the next one says how many there were.
// Context: control thread, after open_log().  Blocks: never, but for who else writes to the same
// pipe in the same moment.
void log_line(LogLevel level, std::string_view what, std::string_view detail = {},
              int error_code = 0) noexcept;

// What no control thread can say. Opens and closes the file for this one line.
// Context: a thread of the program while it is alone (the constructor, the child of a fork), or a
// control thread that never came to have descriptors of its own.
void log_from_program(LogLevel level, std::string_view what, std::string_view detail = {},
                      int error_code = 0) noexcept;

}  // namespace swipr::agent
