// What tokens of LuaJIT say, in the words of Lua's (lua_names.h). A function that was called in
// tail position has the name of the call which that one has replaced, as in debug.traceback().
// Source: lj_debug.c, lj_bc.h and lj_obj.h of 2.1, March 2022 to August 2026.
// Context: control thread.  Allocates: never.  Bounds: kMaxLuaSteps instructions and bytes of
// names.
#pragma once

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

// False: the function, or the caller that names it, is gone or unreadable; `out` is undefined.
bool read_luajit_function(ObjectPieces& reader, const Token& token, FunctionText& out) noexcept;

// 0: none, as for functions of C, compiled code and code without debug information.
bool read_luajit_line(ObjectPieces& reader, const Token& token, std::uint32_t& line) noexcept;

}  // namespace swipr::runtimes
