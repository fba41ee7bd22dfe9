// Where LuaJIT keeps what a stack walk reads, and how a process is seen to contain it. Nothing of
// LuaJIT is called. The layouts are those of builds whose references have 64 bits (LJ_GC64), which
// is the default on x86-64 since 2020, and all there is on aarch64. Source: lj_obj.h, lj_frame.h,
// vm_x64.dasc and vm_arm64.dasc of 2.1, March 2022 to August 2026.
#pragma once

#include <array>
#include <cstdint>

#include "preload/runtimes/interpreter_registers.h"
#include "preload/runtimes/lua/lua_layout.h"

namespace swipr::runtimes {

// lua_State. Offsets in bytes.
struct LuaJitThread {
  std::uint64_t next;
  std::uint8_t mark;
  std::uint8_t type;
  std::array<std::uint8_t, 6> reserved;
  std::uint64_t global;  // global_State
  std::uint64_t gray;
  std::uint64_t base;  // of the innermost function, as it was saved last
  std::uint64_t top;
  std::uint64_t stack_end;
  std::uint64_t stack;  // of values
  std::uint64_t open_upvalues;
  std::uint64_t environment;
  std::uint64_t native_frame;  // L->cframe: where the innermost call of the machine is; 0: none
};
static_assert(sizeof(LuaJitThread) == 88);

// GCproto, directly behind which its instructions are.
struct LuaJitCode {
  std::uint64_t next;
  std::uint8_t mark;
  std::uint8_t type;
  std::uint8_t parameter_count;
  std::uint8_t slot_count;
  std::uint32_t instruction_count;
  std::uint64_t reserved;
  std::uint64_t gray;
  std::uint64_t constants;  // from here on; those that are objects lie before
  std::uint64_t upvalues;
  std::uint32_t object_count;
  std::uint32_t number_count;
  std::uint32_t bytes;
  std::uint8_t upvalue_count;
  std::uint8_t flags;
  std::uint16_t trace;
  std::uint64_t source;
  std::uint32_t first_line;
  std::uint32_t line_count;
  std::uint64_t lines;  // of each instruction, from the first line on: 1, 2 or 4 bytes
  std::uint64_t upvalue_names;
  std::uint64_t locals;
};
static_assert(sizeof(LuaJitCode) == 104);

// GCfunc
struct LuaJitFunction {
  std::uint64_t next;
  std::uint8_t mark;
  std::uint8_t type;
  std::uint8_t kind;  // ffid; 0: of Lua, 1: of C, otherwise of LuaJIT itself
  std::uint8_t upvalue_count;
  std::uint32_t reserved;
  std::uint64_t environment;
  std::uint64_t gray;
  std::uint64_t instructions;
  std::uint64_t c_function;
};
static_assert(sizeof(LuaJitFunction) == 48);

enum LuaJitType : std::uint8_t {
  kLuaJitText = 4,
  kLuaJitThread = 6,
  kLuaJitCodeType = 7,
  kLuaJitFunctionType = 8
};

// What a walk reads of the machine's native frame (CFRAME_*).
struct LuaJitNativeFrame {
  std::int32_t result_count;  // below 0: it was made when so many bytes of the stack were in use
  std::int32_t other;
  std::uint64_t thread;
  std::uint64_t instruction;  // the next one, as it was saved last
  std::uint64_t previous;     // with flags in its lowest bits; 0: this is the thread's outermost
  std::uint64_t saved_base;   // rbx; unused on aarch64
  std::uint64_t saved_frame;  // rbp, x29
  std::uint64_t return_address;
};
// Where its words are, from the stack pointer in the machine's code on.
inline constexpr std::array<std::uint8_t, sizeof(LuaJitNativeFrame) / 8> kLuaJitNativePlaces =
    kIsX86_64 ? std::array<std::uint8_t, 7>{8, 16, 24, 32, 56, 64, 72}
              : std::array<std::uint8_t, 7>{40, 16, 8, 0, 0, 192, 200};
inline constexpr std::uint64_t kLuaJitFrameRecord = kLuaJitNativePlaces[5];
inline constexpr std::uint64_t kLuaJitReturnAddress = kLuaJitNativePlaces[6];
inline constexpr std::uint64_t kLuaJitNativeBytes = kLuaJitReturnAddress + 8;
inline constexpr std::uint64_t kLuaJitFlags = 3;  // of addresses of native frames

// global_State
inline constexpr std::uint64_t kLuaJitState = 184;  // vmstate
inline constexpr std::uint64_t kLuaJitMainThread = 192;
// cur_L, the thread that runs, is in one of these places, and jit_base follows it.
inline constexpr std::array<std::uint64_t, 2> kLuaJitCurrent = {368, 376};

// Detects LuaJIT as detect_lua does Lua; `runtime` has is_jit.
LuaDetection detect_luajit(std::uint64_t elf_header, Range<std::uint64_t> dynamic,
                           std::uint64_t load_bias, unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
