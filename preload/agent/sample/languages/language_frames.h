// Frames of language runtimes in stacks: reads those of blocked threads from outside, takes those
// that handlers left, and puts them where the native stack has the runtime's interpreter loop.
// Java has none: its frames alternate with native ones, and walks go through them.
// Context: control thread.  Allocates: memory at the first stack of a runtime, until release().
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "preload/agent/base/moment.h"
#include "preload/agent/modules/runtime_registry.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/agent/proc/wait_channels.h"
#include "preload/agent/sample/languages/java_stacks.h"
#include "preload/agent/sample/languages/token_names.h"
#include "preload/agent/sample/languages/v8_stacks.h"
#include "preload/agent/threads/thread.h"
#include "preload/handler/runtime_slots.h"
#include "preload/runtimes/java/java_frames.h"
#include "preload/runtimes/python/python_tasks.h"
#include "preload/runtimes/splice.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent {

// Tasks of asyncio.
struct TaskList {
  const char* problem = nullptr;  // static text: why there are none
  std::span<const std::uint64_t> tasks{};
  std::uint32_t left_out = 0;  // more there is no room for
};

class LanguageFrames {
 public:
  // Before a signal to the thread: finds its states, because handlers do not search for them.
  void prepare(const RuntimeRegistry& runtimes, ProcMemory& memory, std::uint32_t place,
               Thread& thread) noexcept;
  // The walks that follow, until the next call, are of one stack: of this thread, which is blocked,
  // or of one that was signalled (nullptr).
  void begin_stack(Thread* blocked) noexcept;
  // As unwind::walk_on, through the frames of runtimes.
  unwind::WalkEnd walk_on(const RuntimeRegistry& runtimes, ProcMemory& memory,
                          const unwind::CodeMap& map, const unwind::Registers& registers,
                          bool exact, unwind::StackReader stack,
                          unwind::FrameBuffer& frames) noexcept;
  // After the walk of a slot is finished and verified. `frames` is the slot's.
  void splice_answer(const RuntimeRegistry& runtimes, ProcMemory& memory, std::uint32_t place,
                     Thread& thread, const handler::Slot& slot,
                     unwind::FrameBuffer& frames) noexcept;
  // Reads the frames of a thread that is blocked there and whose walk has filled `frames`, and what
  // of its runtime it waits for. If its CPU clock has advanced meanwhile, they are not used;
  // otherwise the frames are put into its native stack afterwards.
  RuntimeWaitFound read_blocked(const RuntimeRegistry& runtimes, ProcMemory& memory,
                                std::uint32_t place, Thread& thread, const WaitPlace& wait,
                                const unwind::FrameBuffer& frames) noexcept;
  void splice_blocked(const RuntimeRegistry& runtimes, ProcMemory& memory,
                      unwind::FrameBuffer& frames) noexcept;

  // Lifetime: until the next call.
  TaskList list_tasks(const RuntimeRegistry& runtimes, ProcMemory& memory, Moment now) noexcept;
  // What one of them waits for. Lifetime: the name, until the next call.
  runtimes::PythonTaskState read_task(const RuntimeRegistry& runtimes, ProcMemory& memory,
                                      std::uint64_t task, runtimes::PythonTask& parts,
                                      std::string_view& name, unwind::FrameBuffer& frames) noexcept;

  // Whether a stack since the last call had code of Java where the runtime knows none.
  bool take_outdated() noexcept { return std::exchange(is_outdated_, false); }
  // Whether a function of a spliced stack has no number: there is no room for its name.
  bool has_nameless(const unwind::FrameBuffer& frames) const noexcept;
  const FunctionTable& functions() const noexcept { return functions_; }
  // No recording is left.
  void release() noexcept;

 private:
  struct Tasks {
    std::uint32_t runtime;  // whose types they are; 0: none
    Moment home_due;
    runtimes::PythonTaskTypes types;
    runtimes::PythonTaskHome home;
    runtimes::PythonTaskList list;
    runtimes::PythonAwaits awaits;
  };
  // Zeroed memory is a valid one.
  struct Memory {
    TokenNames names;
    Tasks tasks_of_asyncio;
    // Of the blocked thread that was read last, or of the part of an answer that was walked here.
    runtimes::TokenBuffer tokens;
    JavaStacks java;
    V8Stacks v8;
    std::uint64_t monitor_holder;  // a hint: the JavaThread that held a monitor
    std::uint64_t ruby_owner;      // a hint: where the lock of Ruby has its owner
    runtimes::BoundedText<1024> wait_type;
    runtimes::SplicedStack spliced;
    std::array<std::uint64_t, wire::kMaxFrames> pcs;
    std::array<std::uint8_t, wire::kMaxFrames> kinds;
  };

  bool has_memory() noexcept;
  static void set_states(std::uint32_t place, Thread& thread,
                         const runtimes::PythonThreadStates& states) noexcept;
  void splice(const handler::RuntimeSnapshot& snapshot, const runtimes::TokenBuffer& tokens,
              ProcMemory& memory, unwind::FrameBuffer& frames) noexcept;
  void name_java(const handler::RuntimeSnapshot& snapshot,
                 std::span<const runtimes::Token> of_handler, ProcMemory& memory,
                 unwind::FrameBuffer& frames) noexcept;
  RuntimeWaitFound find_java_wait(const handler::RuntimeSnapshot& snapshot,
                                  runtimes::ObjectPieces& reader, Thread& thread) noexcept;
  static std::uint64_t find_java_thread(const handler::RuntimeSnapshot& snapshot,
                                        runtimes::ObjectPieces& reader, Thread& thread) noexcept;
  static bool find_anchor(const handler::RuntimeSnapshot& snapshot, runtimes::ObjectPieces& reader,
                          Thread& thread, runtimes::JavaRegisters& out) noexcept;

  FunctionTable functions_;
  Thread* blocked_ = nullptr;
  bool is_outdated_ = false;
  Memory* own_ = nullptr;
};

}  // namespace swipr::agent
