// Frames of Lua as tokens. No variable leads to a Lua state, but the native stack does: Lua calls
// everything in a protected call (luaD_rawrunprotected), of which the native frame has the address
// of the state, and to which the state refers as long as it lasts. A state that refers to a frame
// of this stack runs on it; one that is parked, has ended or is another thread's does not. The
// native frames from one outermost protected call of a state to the next belong to that state, and
// so do the loops (luaV_execute) among them.
//
// Where the frame of a protected call has these addresses is found in the first stack with frames
// of Lua, and remembered: it has one call, and so one return address.
//
// Everything that is read may be garbage: the thread is interrupted anywhere, and from outside it
// may be running meanwhile. Hence every loop is counted.
//
// Lua has no names for functions; a token has the call that was made, which has one, as in
// debug.traceback().
//
// Of a deep stack both ends are read, as TokenBuffer keeps them.
//
// Context: signal handler or control thread.  Allocates: never.  Errno: kept.  Bounds:
// kMaxLuaCalls and, twice, kOuterLuaCalls; up to 6 small reads for each.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"
#include "preload/runtimes/lua/lua_layout.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/packed_names.h"
#include "preload/runtimes/token.h"
#include "preload/unwind/base/registers.h"

namespace swipr::runtimes {

inline constexpr std::uint32_t kMaxLuaCalls = 2048;   // functions of C are calls, too
inline constexpr std::uint32_t kOuterLuaCalls = 512;  // of one thread that has more

// As FrameBuffer has it, innermost first.
struct LuaStack {
  std::span<const std::uint64_t> pcs;
  std::span<const std::uint64_t> stacks;           // of one size
  const unwind::Registers* interrupted = nullptr;  // of the innermost frame
};

// Where native frames of protected calls have what is needed; 0: not found yet. By their return
// address from the loop's code on (32 bits), and by the distances of the state's address and of the
// structure from the stack pointer.
using LuaProtection = std::atomic<std::uint64_t>;

// Fills `tokens` with the frames of Lua on a stack. `reader` never faults.
SWIPR_SIGNAL_SAFE void walk_lua(const LuaRuntime& lua, unwind::ImageReader reader,
                                const LuaStack& stack, LuaProtection& protection,
                                TokenBuffer& tokens) noexcept;

// The fingerprint of a token: half of it is of the function; the other half says what called it.
// * A mark without kTokenEndsLoop: the caller and its instruction (pack_lua_call). Then the
//   half is the caller's fingerprint.
// * Otherwise the caller's instruction itself, which has called a metamethod or an iterator, or
//   one of these:
inline constexpr std::uint32_t kLuaUnknownCall = 0;
inline constexpr std::uint32_t kLuaFinalizer = ~std::uint32_t{0};

SWIPR_SIGNAL_SAFE std::uint32_t fingerprint_of(const LuaCode& code) noexcept;

// An instruction of a function, as one word. 0: it does not fit.
constexpr std::uint64_t pack_lua_call(std::uint64_t code, std::uint32_t position) noexcept {
  if (position >> kPackedRestBits != 0) return 0;
  return code >> 3 | std::uint64_t{position} << kPackedAddressBits;
}
constexpr std::uint64_t lua_caller(std::uint64_t packed) noexcept {
  return low_bits(packed, kPackedAddressBits) << 3;
}
constexpr std::uint32_t lua_caller_position(std::uint64_t packed) noexcept {
  return static_cast<std::uint32_t>(packed >> kPackedAddressBits);
}

}  // namespace swipr::runtimes
