// Writes lines to the destination in SWIPR_LOG, none if it is unset. Not for the signal handler.
#pragma once

#include <cstdint>
#include <string_view>

namespace swipr::agent {

enum class LogLevel : std::uint8_t { kError, kWarning, kInfo, kDebug };

// "error", "warning", "info", "debug"; anything else: kInfo.
LogLevel parse_log_level(std::string_view text) noexcept;

// Stores the destination and the identity of descriptor 2, which the program may replace later.
// `destination`, NUL-terminated, must stay valid: empty or "0" for none; "1" or "stderr"; or a file
// to append to.
// Context: the constructor.
void configure_log(std::string_view destination, LogLevel level) noexcept;

// Opens the destination in the control thread's own descriptor table. log_line works from then on.
// Context: control thread.
void open_log() noexcept;

// Drops the line if it cannot be written at once; the next line states how many were dropped.
// Context: control thread, after open_log(). Blocks: only while another process writes to the same
// pipe.
void log_line(LogLevel level, std::string_view what, std::string_view detail = {},
              int error_code = 0) noexcept;

// For use without a control thread. Opens and closes the file for this one line.
// Context: the only thread of the program (the constructor, the child of a fork), or a control
// thread that could not get a descriptor table of its own.
void log_from_program(LogLevel level, std::string_view what, std::string_view detail = {},
                      int error_code = 0) noexcept;

}  // namespace swipr::agent
