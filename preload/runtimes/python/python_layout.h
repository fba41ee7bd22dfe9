// Where CPython 3.8 to 3.15 keeps what a stack walk reads, and how a process is seen to run one of
// them. Nothing of the interpreter is called: it could wait for the GIL or for a lock of the
// loader. Source: the headers of each version (Include/cpython/code.h,
// Include/internal/pycore_frame.h, pycore_interp.h, pycore_gil.h; from 3.13 on _Py_DebugOffsets of
// pycore_runtime.h).
#pragma once

#include <cstdint>

#include "common/core/range.h"
#include "preload/runtimes/detection.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

// How the frames of one native interpreter loop are told from those of the next.
enum class PythonFrameStyle : std::uint8_t {
  kObjects,  // 3.8–3.10: a loop runs one frame, which is an object on the heap
  kFlagged,  // 3.11: a frame is flagged as the first of its loop; a C frame of each is linked
  kShims,    // 3.12+: a frame without code, on the C stack, lies between two loops
};

// The formats of line tables (python_lines.h).
enum class PythonLineFormat : std::uint8_t { kLnotab, kPairs, kLocations };

// Offsets in bytes. 0: this version has no such field (unless said otherwise).
struct PythonLayout {
  std::uint8_t minor;  // of version 3.minor
  PythonFrameStyle frames;
  PythonLineFormat lines;
  std::uint32_t runtime_interpreters;
  std::uint32_t runtime_gil;         // the structure itself; 0: interpreter_gil has a pointer to it
  std::uint32_t runtime_collecting;  // an int: 1 while garbage is collected; 0: in interpreters
  std::uint32_t interpreter_next;    // may be 0
  std::uint32_t interpreter_threads;
  std::uint32_t interpreter_gil;
  std::uint32_t interpreter_collecting;
  // PyThreadState. `next` is at 8, `interp` at 16 in all versions.
  std::uint32_t thread_id;         // a pthread_t
  std::uint32_t thread_native_id;  // a tid
  std::uint32_t thread_frame;      // to a frame; if there are C frames, to the innermost of them
  // _PyCFrame, 3.11 and 3.12: a local variable of each loop. cframe_previous 0: there is none.
  std::uint32_t cframe_frame;  // may be 0
  std::uint32_t cframe_previous;
  std::uint32_t frame_previous;
  std::uint32_t frame_code;  // may be 0. From 3.14 on the two lowest bits are a tag
  std::uint32_t frame_position;
  std::uint32_t frame_owner;
  std::uint32_t frame_is_entry;
  std::uint32_t code_file;
  std::uint32_t code_name;
  std::uint32_t code_qualified_name;
  std::uint32_t code_first_line;
  std::uint32_t code_lines;
  std::uint32_t code_constants;
  std::uint32_t code_version;          // a number that no two code objects share; 0: none is known
  std::uint32_t code_first_traceable;  // in units of the bytecode
  std::uint32_t code_bytecode;
  std::uint32_t text_ascii;  // the characters of a str that is ASCII …
  std::uint32_t text_other;  // … and of one that is not
};

inline constexpr std::uint64_t kPythonThreadNext = 8;
inline constexpr std::uint64_t kPythonThreadInterpreter = 16;
inline constexpr std::uint64_t kPythonObjectType = 8;

inline constexpr unsigned kNewestPython = 15;
// nullptr: no version that is known.
const PythonLayout* find_python_layout(unsigned minor) noexcept;

// An interpreter in this process. A value: copy it. Valid while the image is mapped.
struct PythonRuntime {
  PythonLayout layout{};
  std::uint64_t runtime = 0;    // address of _PyRuntime
  std::uint64_t code_type = 0;  // … and of PyCode_Type, the type of every code object
  // The code of _PyEval_EvalFrameDefault, for the splice. In 3.8–3.10 it is the loop. Later
  // versions may have their loop elsewhere; their tokens have marks.
  Range<std::uint64_t> loop;
};

struct PythonDetection {
  DetectionState state = DetectionState::kAbsent;
  unsigned minor = 0;            // of version 3.minor; 0: unknown
  unsigned micro = 0;            // of version 3.minor.micro, where has_micro
  bool has_micro = false;        // 3.11+
  const char* reason = nullptr;  // static text, for "frames not read (REASON)"; with kFound none
  PythonRuntime runtime;         // with kFound
};

// Looks for CPython in a mapped image: `dynamic` is its PT_DYNAMIC (run-time addresses), as for
// find_exported. An image that has none costs three or four small reads. Whether the
// interpreter has been initialised does not matter.
// Context: control thread.  Allocates: never.  Bounds: about 200 small reads.
PythonDetection detect_python(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                              unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
