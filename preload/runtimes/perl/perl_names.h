// What a token of Perl says: function, file and line. Names are read after the frame was seen, and
// code made by eval may be gone by then. The function's name has the hash that the handler has
// seen, and the file's name its first 64 bytes, or it is a loss. The rest is not proven: what
// follows in a longer file name, and the package's name. Context: control thread.  Allocates:
// never.  Bounds: 4,096 bytes of a text; ordinarily 5 to 8 reads of 512 bytes.
#pragma once

#include <cstdint>

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/perl/perl_layout.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

// The name with its package, as in "main::run" or "App::Log::__ANON__"; that of code outside
// functions is its file's, "(eval)" that of all code of a text.
// False: the function is gone, or was never one; `out` is undefined. Discards the reader's pieces.
bool read_perl_function(const PerlLayout& layout, ObjectPieces& reader, const Token& token,
                        FunctionText& out) noexcept;

// Appends the name of a package. False: unreadable, or it is none.
bool append_perl_package(const PerlLayout& layout, ObjectPieces& reader, std::uint64_t package,
                         BoundedText<1024>& out) noexcept;

// The line that runs; 0: unknown.
inline std::uint32_t perl_line(const Token& token) noexcept { return token.position; }

}  // namespace swipr::runtimes
