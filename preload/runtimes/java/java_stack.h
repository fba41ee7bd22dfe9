// Walks of stacks on which Java frames and native ones alternate. They fill the frames with the
// pcs of both, and the tokens with one token for each frame in Java's code: its mark is that
// frame's stack pointer. With `luajit` they go through LuaJIT's code instead (luajit_frames.h).
#pragma once

#include "common/core/signal_safe.h"
#include "preload/runtimes/java/java_layout.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"
#include "preload/unwind/walk/page_probe_reader.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::runtimes {

class LuaJitWalk;

inline constexpr unsigned kMaxJavaSteps = 16384;  // Java frames of one walk

// As unwind::walk with a PageProbeReader. `pages` is cleared and used for everything but the stack
// and the code cache, of which committed parts stay mapped as long as the process lives.
// Context: signal handler.  Allocates: never.  Errno: kept.
SWIPR_SIGNAL_SAFE unwind::WalkEnd walk_with_java(
    const JavaRuntime& java, const unwind::CodeMap& map, const unwind::Registers& registers,
    unwind::PageProbeReader& stack, PageCache& pages, unwind::FrameBuffer& frames,
    TokenBuffer& tokens, unwind::Registers* stopped, LuaJitWalk* luajit = nullptr) noexcept;

// As unwind::walk_on. `stack` reads the stack, which may be a copy, `reader` everything else. The
// tokens of this stack from the walk's first frame on are replaced.
// Context: control thread.  Allocates: never.
unwind::WalkEnd walk_on_with_java(const JavaRuntime& java, const unwind::CodeMap& map,
                                  const unwind::Registers& registers, bool exact,
                                  unwind::StackReader stack, ObjectPieces& reader,
                                  unwind::FrameBuffer& frames, TokenBuffer& tokens,
                                  LuaJitWalk* luajit = nullptr) noexcept;

}  // namespace swipr::runtimes
