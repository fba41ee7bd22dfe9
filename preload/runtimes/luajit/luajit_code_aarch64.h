// What the instructions of LuaJIT's machine on aarch64 say. Registers: x19 base of values, x21 next
// instruction, x23 lua_State, x29 frame record, which is at the end of the machine's frame.
// Context: anywhere, signal handlers included; built for other machines, too.
// Source: vm_arm64.dasc of 2.1, March 2022 to August 2026 (saveregs, restoreregs, vm_ffi_call).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace swipr::runtimes {

// So many end with a call. Stores are at most 11 before it, but for that of a resumed coroutine.
inline constexpr std::size_t kLuaJitCallCode = 20;

struct LuaJitSaved {
  bool base = false;         // in the lua_State
  bool instruction = false;  // in the machine's frame
};

// What the code that ends with a call has saved before it. An earlier call may be between: it
// leaves both as they are, or moves them with the stack of values.
constexpr LuaJitSaved saved_before_call(
    const std::array<std::uint32_t, kLuaJitCallCode>& code) noexcept {
  LuaJitSaved saved;
  for (std::size_t index = code.size() - 1; index-- != 0;) {
    const std::uint32_t bits = code[index];
    const bool jumps = bits >> 26 == 0x05;                     // b
    const bool returns = (bits & 0xff9ffc1f) == 0xd61f0000;    // br, ret
    const bool stores = (bits & 0xffffffe0) == 0xf90012e0 ||   // str Xn, [x23, 32]
                        (bits & 0xffff83e0) == 0xa90202e0;     // stp Xn, Xm, [x23, 32]
    const bool changes_base = !stores && (bits & 0x1f) == 19;  // or what looks like it
    saved.base = saved.base || stores;
    saved.instruction = saved.instruction || bits == 0xf90007f5;  // str x21, [sp, 8]
    if (jumps || returns || (changes_base && !saved.base)) break;
  }
  return saved;
}

// `code`: the instruction before the next one, and that. Where x29 and x30 are the caller's: how
// far its stack pointer is from the current one.
constexpr std::optional<std::uint64_t> luajit_caller_distance(
    const std::array<std::uint32_t, 2>& code) noexcept {
  struct Frame {
    std::uint32_t takes_stack, stores_record, returns_stack;
    std::uint64_t bytes;
  };
  constexpr std::array<Frame, 2> kFrames = {{
      // sub sp, sp, 208; stp x29, x30, [sp, 192]; add sp, sp, 208
      {0xd10343ff, 0xa90c7bfd, 0x910343ff, 208},
      // stp x20, x19, [sp, -32]!; stp x29, x30, [sp, 16]; ldp x20, x19, [sp], 32
      {0xa9be4ff4, 0xa9017bfd, 0xa8c24ff4, 32},
  }};
  for (const Frame& frame : kFrames) {
    if (code[1] == frame.takes_stack || code[0] == frame.returns_stack) return 0;
    if (code[0] == frame.takes_stack || code[0] == frame.stores_record ||
        code[1] == frame.returns_stack) {
      return frame.bytes;
    }
  }
  return std::nullopt;
}

}  // namespace swipr::runtimes
