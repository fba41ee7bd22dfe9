// What tokens of Lua say: names, files and lines. A function is a value without a name; it gets
// that by which it is called, as in debug.traceback(), or "function <FILE:LINE>".
// Source: ldebug.c, lopcodes.h and lobject.c (luaO_chunkid) of 5.4.0 to 5.4.9.
// Context: control thread.  Allocates: never.  Bounds: kMaxLuaSteps instructions and local
// variables; 2 texts.
#pragma once

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

inline constexpr std::uint32_t kMaxLuaSteps = 1 << 15;

// False: the function, or the caller of one of C, is gone or unreadable; `out` is undefined.
bool read_lua_function(ObjectPieces& reader, const Token& token, FunctionText& out) noexcept;

// 0: none, as for functions of C and code without debug information.
bool read_lua_line(ObjectPieces& reader, const Token& token, std::uint32_t& line) noexcept;

// What a function without a name is called: "function <FILE:LINE>".
void append_lua_place(const FunctionText& text, BoundedText<1024>& out) noexcept;

// The name of a source: "@file", "=name", or the code itself, of which the first line is shown.
// False: unreadable.
bool append_lua_source(ObjectPieces& reader, std::uint64_t begin, std::uint64_t length,
                       BoundedText<4096>& out) noexcept;

}  // namespace swipr::runtimes
