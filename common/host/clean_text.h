// Text of unknown origin (names of functions, threads, files) for terminals, pages and messages.
#pragma once

#include <string>
#include <string_view>

namespace swipr::host {

// Valid UTF-8 on one line that neither steers a terminal nor changes the order in which it is read.
// C0 controls and DEL become spaces, bytes that are not UTF-8 question marks. C1 controls (U+009B
// begins an escape sequence), line and paragraph separators and the controls of bidirectional text
// become visible: "\u202e".
std::string clean_text(std::string_view text);

}  // namespace swipr::host
