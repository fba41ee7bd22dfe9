// What a token of Python says: function, file and lines. They are read after the frame was seen, so
// its code object may have been freed, and its memory used again: the token's fingerprint is
// compared before and after everything else is read, and a difference is a loss, never a guess.
// Context: control thread.  Allocates: never.  Bounds: 4,096 characters of a text, 64 KiB of a line
// table; ordinarily 4 to 8 reads of 512 bytes.
#pragma once

#include <cstdint>

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/python/python_layout.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

// False: the function is gone, or was never one; `out` is undefined. Both functions discard the
// reader's pieces.
bool read_python_function(const PythonRuntime& python, ObjectPieces& reader, const Token& token,
                          FunctionText& out) noexcept;

// The line that runs at the token's position; 0: compiled code without a line. False as above.
bool read_python_line(const PythonRuntime& python, ObjectPieces& reader, const Token& token,
                      std::uint32_t& line) noexcept;

// read_python_fingerprint of python_frames.h, from outside.
bool read_python_code_fingerprint(const PythonRuntime& python, ObjectPieces& reader,
                                  std::uint64_t code, std::uint64_t& out) noexcept;

// A task's name behind "task ", as Python shows it. False: unreadable.
bool read_python_task_name(const PythonRuntime& python, ObjectPieces& reader,
                           std::uint64_t text_type, std::uint64_t name,
                           BoundedText<1024>& out) noexcept;

}  // namespace swipr::runtimes
