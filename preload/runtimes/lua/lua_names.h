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

}  // namespace swipr::runtimes
