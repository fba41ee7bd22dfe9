// What a token of PHP says: function, file and line. Names are read after the frame was seen, and
// functions and texts of a request are freed with it. What was read has the hashes that the handler
// has seen, or it is a loss, never a guess.
// Context: control thread.  Allocates: never.  Bounds: 4,096 bytes of a text; ordinarily 5 to 8
// reads of 512 bytes.
#pragma once

#include <cstdint>

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

// Methods have their class before them, code of a file outside its functions has the file's name.
// False: the function is gone, or was never one; `out` is undefined. Discards the reader's pieces.
bool read_php_function(ObjectPieces& reader, const Token& token, FunctionText& out) noexcept;

// The line that runs; 0: unknown.
inline std::uint32_t php_line(const Token& token) noexcept {
  return token.position == kNoPosition ? 0 : token.position;
}

}  // namespace swipr::runtimes
