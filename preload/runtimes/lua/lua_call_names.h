// By what name a function of Lua was called. Context: control thread.  Allocates: never.
#pragma once

#include <cstdint>

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/lua/lua_layout.h"
#include "preload/runtimes/object_reader.h"

namespace swipr::runtimes {

// Of a metamethod or an iterator, which this instruction has called. Appends nothing if it is none.
void append_lua_event(std::uint32_t instruction, BoundedText<1024>& out) noexcept;

// Of the function that the instruction at that position of the caller has called. Appends nothing
// if it has none, or it is unreadable.
// Bounds: kMaxLuaSteps.
void append_lua_call(ObjectPieces& reader, const LuaCode& caller, std::uint32_t position,
                     BoundedText<1024>& out) noexcept;

// Appends a text of Lua, from byte `begin` on. False: it is none, or unreadable.
bool append_lua_text(ObjectPieces& reader, std::uint64_t text, BoundedText<1024>& out) noexcept;

// Where the characters of a text are, and their number. False: it is none.
bool find_lua_text(ObjectPieces& reader, std::uint64_t text, std::uint64_t& begin,
                   std::uint64_t& length) noexcept;

}  // namespace swipr::runtimes
