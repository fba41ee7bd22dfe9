// A native frame of LuaJIT's machine, and the thread of Lua that runs in it.
// Context: signal handler or control thread.
#pragma once

#include <cstdint>

#include "preload/runtimes/luajit/luajit_objects.h"

namespace swipr::runtimes {

struct LuaJitPlace {
  LuaJitObjects& objects;
  const unwind::Registers& registers;
  const std::uint64_t stack_begin;  // the first stack pointer of the walk
  const bool is_exact;              // the pc is that of a thread that was interrupted
  bool is_machine = false;          // … is in the machine's own code
  bool is_resuming = false;         // the machine itself has made the frame, for a coroutine

  std::uint64_t at = 0;  // the frame
  LuaJitNativeFrame native{};
  LuaJitThread head{};  // if it is known

  // 0: the thread does not run compiled code.
  std::uint64_t jit_base() noexcept {
    for (const std::uint64_t place : kLuaJitCurrent) {
      LuaJitSlots found{};
      if (!objects.read(head.global + place, found)) return 0;
      if (found.function == native.thread) return found.link;
    }
    return 0;
  }
  bool is_base(std::uint64_t base) const noexcept {
    return base % kLuaJitSlotBytes == 0 && base >= head.stack + 2 * kLuaJitSlotBytes &&
           base <= head.stack_end;
  }
  // The function at this base is where the instruction pointer is.
  bool runs(std::uint64_t base, std::uint64_t next) noexcept {
    LuaJitSlots slots{};
    LuaJitCall call;
    if (!is_base(base) || !objects.read(base - sizeof slots, slots) ||
        !objects.read_call(slots.function, call)) {
      return false;
    }
    if (call.code != 0) return call.is_instruction(next);
    return next == call.entry || next + 4 == call.entry || next == (slots.link & ~std::uint64_t{3});
  }
};

}  // namespace swipr::runtimes
