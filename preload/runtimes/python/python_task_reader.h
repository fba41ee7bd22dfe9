// Objects that tasks of asyncio consist of, read from outside. Everything may be garbage: addresses
// are checked for their alignment only, unreadable words are 0. Context: control thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/python/python_layout.h"
#include "preload/runtimes/python/python_tasks.h"

namespace swipr::runtimes {

inline constexpr std::uint64_t kPythonObjectBytes = 16;  // PyObject

// Source: Modules/_asynciomodule.c, pycore_interp.h, genobject.h of each version.
struct PythonTaskLayout {
  std::uint8_t minor;
  std::uint16_t interpreter_modules;
  std::uint8_t task_bytes;       // tells a task from one of another layout
  std::uint8_t task_state;       // an int, 0: pending
  std::uint8_t task_coroutine;   // behind it: the name
  std::uint8_t generator_frame;  // the frame itself
  std::uint16_t thread_tasks;    // 3.14+: the head of a list; before: there is none
};
inline constexpr std::array kPythonTaskLayouts = {
    PythonTaskLayout{11, 888, 176, 88, 136, 80, 0}, PythonTaskLayout{12, 944, 176, 88, 136, 72, 0},
    PythonTaskLayout{13, 7656, 144, 96, 120, 72, 0},
    PythonTaskLayout{14, 7688, 168, 104, 128, 72, 880},
    PythonTaskLayout{15, 7592, 168, 104, 128, 72, 1048}};
inline constexpr std::size_t kMaxPythonTaskBytes = 176;

// nullptr: of that version no tasks are read.
constexpr const PythonTaskLayout* find_python_task_layout(unsigned minor) noexcept {
  const unsigned first = kPythonTaskLayouts.front().minor;
  const bool is_known = minor >= first && minor - first < kPythonTaskLayouts.size();
  return is_known ? &kPythonTaskLayouts[minor - first] : nullptr;
}

struct PythonTaskReader {
  const PythonRuntime& python;
  const PythonTaskTypes& types;
  ObjectPieces& reader;

  unsigned minor() const noexcept { return python.layout.minor; }
  std::uint64_t word(std::uint64_t address) const noexcept;  // 0: unreadable
  std::uint64_t type_of(std::uint64_t object) const noexcept {
    return word(object + kPythonObjectType);
  }
  bool is(std::uint64_t object, std::uint64_t type) const noexcept {
    return object != 0 && type_of(object) == type;
  }
};

}  // namespace swipr::runtimes
