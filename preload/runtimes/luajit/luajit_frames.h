// Frames of LuaJIT, native ones and Lua's. The machine code that LuaJIT makes has no CFI that says
// where a frame's caller is: it is registered with rules of none. But every call of LuaJIT's
// machine has a native frame of one layout, in interpreted and in compiled code, from which the
// address of the lua_State leads back to it (L->cframe) or to one of its inner ones. So a walk
// steps from there to the caller, and takes the calls of Lua of each state that it meets.
//
// A function of the machine has its base (the place of its values) in a register, and saves it
// before it calls what may look at it. The instruction pointer, which is in a register of the
// native frame as well, proves that a base is current: it lies in the code of its function. Without
// proof a state has no frames. In compiled code global_State.jit_base is the base of the function
// in which the trace began; those that are inlined into it have no frames.
//
// Everything that is read may be garbage, as in lua_frames.h.
//
// Context: signal handler or control thread.  Allocates: never.  Errno: kept.  Bounds:
// kMaxLuaCalls frames of Lua in one walk; up to 8 small reads for each.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/runtimes/lua/lua_frames.h"
#include "preload/runtimes/luajit/luajit_layout.h"
#include "preload/unwind/base/registers.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/step.h"

namespace swipr::runtimes {

struct LuaJitReaders {
  unwind::StackReader stack;
  unwind::ImageReader objects;  // everything else
};

SWIPR_SIGNAL_SAFE std::uint32_t fingerprint_of(const LuaJitCode& code) noexcept;

// Of one walk: what a WalkLoop asks (walk_loop.h). Tokens are as Lua's; those that end a loop have
// the place of the return address as their mark.
class LuaJitWalk {
 public:
  // `tokens`: nullptr, if objects may be newer than the stack. Then its words alone are the proof.
  // `stack`: the first stack pointer, if the first registers are those of a thread that was
  // interrupted.
  LuaJitWalk(const LuaRuntime& lua, const unwind::CodeMap& map, TokenBuffer* tokens,
             std::uint64_t stack = ~std::uint64_t{0}) noexcept
      : lua_(lua), map_(map), tokens_(tokens), stack_(stack) {}

  SWIPR_SIGNAL_SAFE bool contains(std::uint64_t pc) const noexcept;
  bool is_machine(std::uint64_t pc) const noexcept { return lua_.loop.contains(pc); }
  // … or of lj_vm_ffi_call(), which is behind it.
  bool has_tables(std::uint64_t pc) const noexcept {
    constexpr std::uint64_t kMostBytes = 192;  // Debian's has 160
    return pc >= lua_.loop.begin && pc < lua_.loop.end + kMostBytes;
  }
  // kUseTables: the machine's frame is being made or removed.
  SWIPR_SIGNAL_SAFE unwind::StepStatus step(unwind::Registers& registers, bool exact,
                                            const LuaJitReaders& readers) noexcept;

 private:
  friend class LuaJitStep;

  const LuaRuntime& lua_;
  const unwind::CodeMap& map_;
  TokenBuffer* tokens_;
  std::uint64_t stack_;
  std::uint64_t thread_ = 0;  // whose native frames follow; 0: not known
  std::uint64_t next_ = 0;    // the next one of them
  bool is_resuming_ = false;  // the machine itself has made the last frame, for a coroutine
  std::uint32_t calls_left_ = kMaxLuaCalls;
};

}  // namespace swipr::runtimes
