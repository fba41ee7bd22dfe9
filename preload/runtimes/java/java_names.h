// What tokens of Java say: methods, files and lines. They are read after the frame was seen, so the
// method or the compiled code may be gone, and its memory used again: a token's fingerprint is
// compared before and after everything else is read, and a difference is a loss, never a guess.
// Context: control thread.  Allocates: never.  Bounds: 4,096 bytes of a text, 64 KiB of a line
// table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/java/java_layout.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

inline constexpr std::size_t kMaxJavaInlined = 64;  // methods at one place of compiled code

// The methods at the place of a token of compiled code as tokens of kind kJava, innermost first;
// all but the last are kTokenInlined. The outermost are missing if `out` is too small. 0: the code
// is gone. Code without debug information gives its method, without position. Discards the reader's
// pieces.
std::size_t expand_java_token(const JavaRuntime& java, ObjectPieces& reader, const Token& token,
                              std::span<Token> out) noexcept;

// `token`: of kind kJava. The name is CLASS.METHOD. Addresses in the names of hidden classes are
// removed: they differ from run to run. False: the method is gone, or was never one; `out` is
// undefined. Discards the reader's pieces.
bool read_java_function(const JavaRuntime& java, ObjectPieces& reader, const Token& token,
                        FunctionText& out) noexcept;

// The line that runs at the token's position; 0: unknown. False as above.
bool read_java_line(const JavaRuntime& java, ObjectPieces& reader, const Token& token,
                    std::uint32_t& line) noexcept;

}  // namespace swipr::runtimes
