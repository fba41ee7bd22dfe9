// What tokens of JavaScript say: functions, files and lines. They are read after the frame was
// seen, and the garbage collector may have moved the function: a token's fingerprint is compared
// before and after everything else is read, and a difference, or anything that is not what it
// should be, is a loss, never a guess. Context: control thread.  Allocates: never.  Bounds: 4,096
// characters of a text, 64 KiB of a table of positions, 2 Mi characters of a source whose line ends
// V8 has not counted.
#pragma once

#include <cstdint>

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"
#include "preload/runtimes/v8/v8_layout.h"
#include "preload/runtimes/v8/v8_lines.h"

namespace swipr::runtimes {

// The function's name is the one that V8 shows, or the one that it has inferred. A function without
// either is named by its place, "(anonymous:LINE:COLUMN)"; code outside all functions is "(top
// level)", that of eval "eval", a built-in function without a name "(built in)". Built-in functions
// have no file; that of code without one, as of eval, is "<eval>". False: the function is gone, or
// was never one; `out` is undefined. Discards the reader's pieces.
bool read_v8_function(const V8Runtime& v8, ObjectPieces& reader, const Token& token,
                      V8LineCache& lines, FunctionText& out) noexcept;

// The line that runs at the token's position; 0: unknown. False as above.
bool read_v8_line(const V8Runtime& v8, ObjectPieces& reader, const Token& token, V8LineCache& lines,
                  std::uint32_t& line) noexcept;

}  // namespace swipr::runtimes
