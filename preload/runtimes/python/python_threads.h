// Thread states of CPython: how a thread is recognised, and where its states are. See
// python_frames.h for readers, context and bounds.
#pragma once

#include <array>
#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/python/python_layout.h"

namespace swipr::runtimes {

inline constexpr unsigned kMaxPythonThreads = 4096;  // of all interpreters together
inline constexpr unsigned kMaxPythonInterpreters = 64;

// How a thread is recognised. Versions before 3.11 know its pthread_t only. Later ones know its
// tid, which is the parent's in the first thread of a child whose parent has not called
// PyOS_AfterFork_Child (uWSGI); its pthread_t is right.
struct ThreadIdentity {
  std::uint64_t tid = 0;             // as gettid() in the process itself
  std::uint64_t pthread = 0;         // its pthread_t; 0: unknown
  std::uint32_t tid_in_pthread = 0;  // offset of the tid in libc's struct pthread; 0: unknown
  bool is_first = false;             // of the process
};

// What libc has as the tid of a thread state's thread; 0: unknown.
template <typename Reader>
SWIPR_SIGNAL_SAFE std::uint64_t read_tid_in_pthread(const PythonRuntime& python, Reader& reader,
                                                    std::uint64_t thread_state,
                                                    std::uint32_t tid_in_pthread) noexcept {
  std::uint64_t id = 0;
  std::uint32_t tid = 0;
  const bool is_known = tid_in_pthread != 0 &&
                        reader.read_value(thread_state + python.layout.thread_id, id) &&
                        reader.read_value(id + tid_in_pthread, tid);
  return is_known ? tid : 0;
}

// The tid of a thread state; 0: unknown.
template <typename Reader>
SWIPR_SIGNAL_SAFE std::uint64_t read_python_tid(const PythonRuntime& python, Reader& reader,
                                                std::uint64_t thread_state,
                                                std::uint32_t tid_in_pthread) noexcept {
  std::uint64_t id = 0;
  const std::uint32_t native = python.layout.thread_native_id;
  if (native != 0) return reader.read_value(thread_state + native, id) ? id : 0;
  return read_tid_in_pthread(python, reader, thread_state, tid_in_pthread);
}

// Whether this is a thread state of that thread. `thread_state` may be any number: an address that
// was right a while ago is checked with one to three reads.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool is_python_thread(const PythonRuntime& python, Reader& reader,
                                        std::uint64_t thread_state,
                                        const ThreadIdentity& thread) noexcept {
  if (thread_state == 0 || thread_state % 8 != 0) return false;
  const std::uint32_t native = python.layout.thread_native_id;
  std::uint64_t id = 0;
  if (native != 0 && thread.tid != 0 && reader.read_value(thread_state + native, id) &&
      id == thread.tid) {
    return true;
  }
  if (thread.pthread != 0) {
    return reader.read_value(thread_state + python.layout.thread_id, id) && id == thread.pthread;
  }
  return (native == 0 || thread.is_first) && thread.tid != 0 &&
         read_tid_in_pthread(python, reader, thread_state, thread.tid_in_pthread) == thread.tid;
}

// Whether a thread state has a frame.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool has_python_frames(const PythonRuntime& python, Reader& reader,
                                         std::uint64_t thread_state) noexcept {
  const PythonLayout& layout = python.layout;
  std::uint64_t frame = 0;
  if (!reader.read_value(thread_state + layout.thread_frame, frame)) return false;
  if (layout.cframe_previous != 0 && frame != 0 &&
      !reader.read_value(frame + layout.cframe_frame, frame)) {
    return false;
  }
  return frame != 0;
}

// A thread has a state in each interpreter that it has entered; those that have frames, in the
// order of the interpreters' list: the youngest first, which it entered last. If none has frames:
// one.
struct PythonThreadStates {
  static constexpr unsigned kMost = 4;
  std::array<std::uint64_t, kMost> all{};  // 0: there are no more

  std::uint64_t first() const noexcept { return all[0]; }
};

// From the lists of all interpreters, until there are `most`; none, if more threads than the bounds
// come first.
template <typename Reader>
SWIPR_SIGNAL_SAFE PythonThreadStates find_python_states(const PythonRuntime& python, Reader& reader,
                                                        const ThreadIdentity& thread,
                                                        unsigned most) noexcept {
  const PythonLayout& layout = python.layout;
  PythonThreadStates found;
  unsigned count = 0;
  std::uint64_t idle = 0;
  std::uint64_t interpreter = 0;
  unsigned threads_left = kMaxPythonThreads;
  reader.read_value(python.runtime + layout.runtime_interpreters, interpreter);
  for (unsigned step = 0; interpreter != 0 && step < kMaxPythonInterpreters; ++step) {
    std::uint64_t state = 0;
    if (!reader.read_value(interpreter + layout.interpreter_threads, state)) break;
    for (; state != 0 && threads_left != 0; --threads_left) {
      if (is_python_thread(python, reader, state, thread)) {
        if (idle == 0) idle = state;
        if (has_python_frames(python, reader, state)) found.all[count++] = state;
        if (count == most) return found;
      }
      if (!reader.read_value(state + kPythonThreadNext, state)) break;
    }
    if (!reader.read_value(interpreter + layout.interpreter_next, interpreter)) break;
  }
  if (count == 0) found.all[0] = idle;
  return found;
}

// Of states that were the thread's a while ago, those that still are and have frames; none: the
// first of those that still are.
template <typename Reader>
SWIPR_SIGNAL_SAFE PythonThreadStates keep_python_states(const PythonRuntime& python, Reader& reader,
                                                        const ThreadIdentity& thread,
                                                        const PythonThreadStates& states) noexcept {
  PythonThreadStates kept;
  unsigned count = 0;
  std::uint64_t idle = 0;
  for (const std::uint64_t state : states.all) {
    if (state == 0) break;
    if (!is_python_thread(python, reader, state, thread)) continue;
    if (idle == 0) idle = state;
    if (states.all[1] == 0) break;  // the only one, as in almost all programs
    if (has_python_frames(python, reader, state)) kept.all[count++] = state;
  }
  if (count == 0) kept.all[0] = idle;
  return kept;
}

template <typename Reader>
bool has_several_interpreters(const PythonRuntime& python, Reader& reader) noexcept {
  std::uint64_t youngest = 0;
  std::uint64_t next = 0;
  return reader.read_value(python.runtime + python.layout.runtime_interpreters, youngest) &&
         youngest != 0 && reader.read_value(youngest + python.layout.interpreter_next, next) &&
         next != 0;
}

// Compiled once, into swipr_runtime_frames and swipr_runtime_names.
extern template PythonThreadStates find_python_states(const PythonRuntime&, ProbedObjects&,
                                                      const ThreadIdentity&, unsigned) noexcept;
extern template PythonThreadStates find_python_states(const PythonRuntime&, ObjectPieces&,
                                                      const ThreadIdentity&, unsigned) noexcept;

}  // namespace swipr::runtimes
