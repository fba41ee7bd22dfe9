// Where Lua 5.4 keeps what a stack walk reads, and how a process is seen to contain it. Nothing of
// Lua is called. It exports its version and describes no layout: that of 5.4.2 is known, and that
// of all later ones, which is the same; each state is proven when it is met. Source: lstate.h,
// lobject.h and ldo.c of 5.4.0 to 5.4.9.
#pragma once

#include <array>
#include <cstdint>

#include "common/core/range.h"
#include "preload/runtimes/detection.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

// A value: copy it. Valid while the image is mapped.
struct LuaRuntime {
  Range<std::uint64_t> loop;         // the code of luaV_execute, which runs functions of Lua
  std::uint32_t protection_at = 88;  // lua_State.errorJmp; base_ci lies behind it
  bool is_jit = false;               // LuaJIT (luajit_layout.h): `loop` is all of its interpreter
};

// lua_State: a coroutine, or the main thread of a state. Offsets in bytes.
struct LuaThreadHead {
  std::uint64_t next;
  std::uint8_t type;
  std::uint8_t mark;
  std::uint8_t status;  // 0: it runs, waits for a coroutine, has ended or has not begun
  std::uint8_t allow_hook;
  std::uint32_t call_count;
  std::uint64_t top;
  std::uint64_t global;  // global_State
  std::uint64_t call;    // the innermost one
  std::uint64_t stack_end;
  std::uint64_t stack;  // of values
};
static_assert(sizeof(LuaThreadHead) == 56);
inline constexpr std::uint64_t kLuaMainThread = 264;  // global_State.mainthread
// Where its innermost protected call (struct lua_longjmp) is on the stack; the first word of that
// is the next outer one. 0: none, and of all that do not run.

// CallInfo
struct LuaCall {
  std::uint64_t function;  // where the value is; while the stack is moved, from its begin on
  std::uint64_t top;
  std::uint64_t previous;
  std::uint64_t next;
  std::uint64_t instruction;  // the next one, as it was saved last
  std::array<std::uint8_t, 22> reserved;
  std::uint16_t status;
};
static_assert(sizeof(LuaCall) == 64);
enum LuaCallStatus : std::uint16_t {
  kLuaCallsC = 2,         // its function is one of C
  kLuaBeginsLoop = 4,     // CIST_FRESH: luaV_execute was called for it
  kLuaRunsHook = 8,       // and that is what it has called
  kLuaIsTailCalled = 32,  // by a function that has ended
  kLuaRunsFinalizer = 128
};

// Proto
struct LuaCode {
  std::uint64_t next;
  std::uint8_t type;
  std::array<std::uint8_t, 7> parameters;
  std::int32_t upvalue_count;
  std::int32_t constant_count;
  std::int32_t instruction_count;
  std::int32_t line_count;
  std::int32_t function_count;
  std::int32_t local_count;
  std::int32_t known_line_count;
  std::int32_t first_line;
  std::int32_t last_line;
  std::int32_t reserved;
  std::uint64_t constants;
  std::uint64_t instructions;
  std::uint64_t functions;
  std::uint64_t upvalues;
  std::uint64_t lines;        // for each instruction the distance from the line of the one before
  std::uint64_t known_lines;  // of some instructions
  std::uint64_t locals;
  std::uint64_t source;
};
static_assert(sizeof(LuaCode) == 120);

// TValue, of which the last 7 bytes are undefined
struct LuaValue {
  std::uint64_t contents;
  std::uint64_t type_in_lowest_byte;
  std::uint8_t type() const noexcept { return static_cast<std::uint8_t>(type_in_lowest_byte); }
};
// Of objects; in values with kLuaIsObject.
enum LuaType : std::uint8_t {
  kLuaShortText = 4,
  kLuaFunction = 6,
  kLuaThread = 8,
  kLuaCodeType = 10,
  kLuaLongText = 20,
  kLuaLightFunction = 22,  // no object: an address of code
  kLuaCFunction = 38,
  kLuaIsObject = 64
};
inline constexpr std::uint64_t kLuaTypeAt = 8;
inline constexpr std::uint64_t kLuaFunctionAt = 24;  // of a closure: its Proto, or its C function

struct LuaDetection {
  DetectionState state = DetectionState::kAbsent;
  const char* reason = nullptr;  // static text, for "frames not read (REASON)"
  std::array<char, 8> version{};
  LuaRuntime runtime;
};

// Looks for Lua in a mapped image: `dynamic` is its PT_DYNAMIC (run-time addresses), as for
// find_exported. An image that has none costs a few small reads.
// Context: control thread.  Allocates: mmap, if it has one.
LuaDetection detect_lua(std::uint64_t elf_header, Range<std::uint64_t> dynamic,
                        std::uint64_t load_bias, unwind::ImageReader reader) noexcept;

// The code of the largest function of an image within so many bytes of `own_function`, by the
// image's search table. False: there is none.
bool find_largest_function(std::uint64_t elf_header, std::uint64_t own_function,
                           std::uint64_t around, unwind::ImageReader reader,
                           Range<std::uint64_t>& out) noexcept;

// The first large function that code of x86-64 calls in its first bytes. False: there is none.
bool find_called_loop(std::uint64_t elf_header, std::uint64_t caller, unwind::ImageReader reader,
                      Range<std::uint64_t>& out) noexcept;

}  // namespace swipr::runtimes
