// What a token of R says: the name of a function, as its call has it. Symbols are never freed, so
// that nothing needs a proof.
// Context: control thread.  Allocates: never.  Bounds: 2 names of 1,024 bytes.
#pragma once

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

// As in "sd", "stats::sd", "model$predict"; "<anonymous>" where the call has no name. No file.
// False: unreadable, or no symbols; `out` is undefined.
bool read_r_function(ObjectPieces& reader, const Token& token, FunctionText& out) noexcept;

// Appends the name of a symbol. False: unreadable, or it is none.
bool append_r_symbol(ObjectPieces& reader, std::uint64_t symbol, BoundedText<1024>& out) noexcept;

}  // namespace swipr::runtimes
