// Text of unknown origin (names of functions, threads, files) for terminals, pages and messages.
#pragma once

#include <string>
#include <string_view>

namespace swipr::host {

// Returns valid UTF-8 on one line without terminal control sequences or bidirectional controls.
// C0 controls and DEL become spaces, invalid bytes become question marks. C1 controls (U+009B
// starts an escape sequence), line and paragraph separators and bidirectional controls are
// escaped: "\u202e".
std::string clean_text(std::string_view text);

// Returns the contents of a string literal of C or JSON that means `text`, as valid UTF-8 with the
// same properties. C: "\n", "\x1b", also for invalid bytes; JSON: invalid bytes become U+FFFD.
enum class Literal { kC, kJson };
std::string escape_text(std::string_view text, Literal literal);

// Without a character at its end that is cut.
std::string_view whole_characters(std::string_view text);

}  // namespace swipr::host
