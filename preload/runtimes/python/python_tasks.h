// Tasks of asyncio: which there are, and what each awaits. Read from outside while the program
// runs, so everything may be garbage: each object's type is checked, every loop is counted, and a
// chain of awaits that is not the same when it is read again is not used. Context: control thread.
// Allocates: never.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/python/python_layout.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

inline constexpr std::uint32_t kMaxPythonTasks = 4096;  // of one look
inline constexpr unsigned kMaxPythonAwaits = 128;       // of one task; the outer ones are kept
inline constexpr unsigned kFirstPythonWithTasks = 11;   // of older versions they are not read

// Objects of the interpreter that are found once, among its exports.
struct PythonTaskTypes {
  std::uint64_t dictionary = 0;
  std::uint64_t set = 0;
  std::uint64_t weak_reference = 0;
  std::uint64_t coroutine = 0;
  std::uint64_t generator = 0;
  std::uint64_t async_generator = 0;
  std::uint64_t text = 0;
};
// False: the interpreter does not export one of them.
bool find_python_task_types(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                            unwind::ImageReader reader, PythonTaskTypes& out) noexcept;

// asyncio in the main interpreter, while it is imported.
struct PythonTaskHome {
  std::uint64_t task_type = 0;
  std::uint64_t tasks = 0;  // the set of all tasks; 3.14+: none, they are linked in thread states
};
// False: asyncio is not imported, or its tasks are not those of its C module.
// Bounds: reads the names of all modules, at most 16,384.
bool find_python_task_home(const PythonRuntime& python, const PythonTaskTypes& types,
                           ObjectPieces& reader, PythonTaskHome& out) noexcept;

// Addresses of what may be tasks.
struct PythonTaskList {
  std::array<std::uint64_t, kMaxPythonTasks> tasks;
  std::uint32_t count = 0;     // of these
  std::uint32_t left_out = 0;  // more there is no room for; not counted beyond 16,384
};
// False: asyncio is at home elsewhere now, or nowhere.
bool list_python_tasks(const PythonRuntime& python, const PythonTaskTypes& types,
                       const PythonTaskHome& home, ObjectPieces& reader,
                       PythonTaskList& out) noexcept;

enum class PythonTaskState : std::uint8_t {
  kWaits,  // the awaits are valid
  kRuns,   // a thread's stack shows it
  kEnded,  // … or it is no task
  kMoved,  // it ran while it was read
};
struct PythonTask {
  std::uint64_t coroutine = 0;
  std::uint64_t name = 0;
  bool operator==(const PythonTask&) const = default;
};
// Of one task, outermost first; marks are the addresses of the generators.
struct PythonAwaits {
  std::array<Token, kMaxPythonAwaits> tokens;
  std::uint32_t count = 0;
  BoundedText<1024> name;  // of the task, behind "task "
};
// Discards the reader's pieces.
PythonTaskState read_python_task(const PythonRuntime& python, const PythonTaskTypes& types,
                                 const PythonTaskHome& home, ObjectPieces& reader,
                                 std::uint64_t address, PythonTask& out,
                                 PythonAwaits& awaits) noexcept;

}  // namespace swipr::runtimes
