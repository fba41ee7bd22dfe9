// The layouts of all versions. tests/unit/preload/runtimes/python_layout.c prints that of a version
// from its headers.
#include <array>

#include "preload/runtimes/python/python_layout.h"

namespace swipr::runtimes {

namespace {

constexpr std::array kLayouts = {
    PythonLayout{.minor = 8,
                 .frames = PythonFrameStyle::kObjects,
                 .lines = PythonLineFormat::kLnotab,
                 .runtime_interpreters = 32,
                 .runtime_gil = 1152,
                 .runtime_collecting = 544,
                 .interpreter_next = 0,
                 .interpreter_threads = 8,
                 .interpreter_gil = 0,
                 .interpreter_collecting = 0,
                 .thread_id = 176,
                 .thread_native_id = 0,
                 .thread_frame = 24,
                 .cframe_frame = 0,
                 .cframe_previous = 0,
                 .frame_previous = 24,
                 .frame_code = 32,
                 .frame_position = 104,
                 .frame_owner = 0,
                 .frame_is_entry = 0,
                 .code_file = 104,
                 .code_name = 112,
                 .code_qualified_name = 0,
                 .code_first_line = 40,
                 .code_lines = 120,
                 .code_constants = 56,
                 .code_version = 0,
                 .code_first_traceable = 0,
                 .code_bytecode = 0,
                 .text_ascii = 48,
                 .text_other = 72},
    PythonLayout{.minor = 11,
                 .frames = PythonFrameStyle::kFlagged,
                 .lines = PythonLineFormat::kLocations,
                 .runtime_interpreters = 40,
                 .runtime_gil = 360,
                 .runtime_collecting = 0,
                 .interpreter_next = 0,
                 .interpreter_threads = 16,
                 .interpreter_gil = 0,
                 .interpreter_collecting = 848,
                 .thread_id = 152,
                 .thread_native_id = 160,
                 .thread_frame = 56,
                 .cframe_frame = 8,
                 .cframe_previous = 16,
                 .frame_previous = 48,
                 .frame_code = 32,
                 .frame_position = 56,
                 .frame_owner = 69,
                 .frame_is_entry = 68,
                 .code_file = 112,
                 .code_name = 120,
                 .code_qualified_name = 128,
                 .code_first_line = 72,
                 .code_lines = 136,
                 .code_constants = 24,
                 .code_version = 0,
                 .code_first_traceable = 168,
                 .code_bytecode = 184,
                 .text_ascii = 48,
                 .text_other = 72},
    PythonLayout{.minor = 12,
                 .frames = PythonFrameStyle::kShims,
                 .lines = PythonLineFormat::kLocations,
                 .runtime_interpreters = 40,
                 .runtime_gil = 0,
                 .runtime_collecting = 0,
                 .interpreter_next = 0,
                 .interpreter_threads = 72,
                 .interpreter_gil = 384,
                 .interpreter_collecting = 312,
                 .thread_id = 136,
                 .thread_native_id = 144,
                 .thread_frame = 56,
                 .cframe_frame = 0,
                 .cframe_previous = 8,
                 .frame_previous = 8,
                 .frame_code = 0,
                 .frame_position = 56,
                 .frame_owner = 70,
                 .frame_is_entry = 0,
                 .code_file = 112,
                 .code_name = 120,
                 .code_qualified_name = 128,
                 .code_first_line = 68,
                 .code_lines = 136,
                 .code_constants = 24,
                 .code_version = 92,
                 .code_first_traceable = 176,
                 .code_bytecode = 192,
                 .text_ascii = 40,
                 .text_other = 56},
};

// What a version has otherwise as the one before.
constexpr PythonLayout layout_of_3_9() {
  PythonLayout layout = kLayouts[0];
  layout.minor = 9;
  layout.runtime_gil = 352;
  layout.runtime_collecting = 0;
  layout.interpreter_collecting = 816;
  return layout;
}
constexpr PythonLayout layout_of_3_10() {
  PythonLayout layout = layout_of_3_9();
  layout.minor = 10;
  layout.lines = PythonLineFormat::kPairs;
  layout.frame_position = 96;
  return layout;
}
constexpr PythonLayout layout_of_3_13() {
  PythonLayout layout = kLayouts[2];
  layout.minor = 13;
  layout.runtime_interpreters = 632;
  layout.interpreter_next = 7264;
  layout.interpreter_threads = 7344;
  layout.interpreter_gil = 16;
  layout.interpreter_collecting = 7600;
  layout.thread_id = 152;
  layout.thread_native_id = 160;
  layout.thread_frame = 72;
  layout.cframe_previous = 0;
  layout.code_first_traceable = 184;
  layout.code_bytecode = 200;
  return layout;
}
constexpr PythonLayout layout_of_3_14() {
  PythonLayout layout = layout_of_3_13();
  layout.minor = 14;
  layout.runtime_interpreters = 808;
  layout.interpreter_next = 7272;
  layout.frame_owner = 74;
  layout.code_first_traceable = 192;
  layout.code_bytecode = 208;
  return layout;
}
constexpr PythonLayout layout_of_3_15() {
  PythonLayout layout = layout_of_3_14();
  layout.minor = 15;
  layout.runtime_interpreters = 936;
  layout.interpreter_next = 7264;
  layout.interpreter_threads = 7336;
  layout.interpreter_collecting = 7512;
  layout.thread_id = 176;
  layout.thread_native_id = 184;
  return layout;
}
constexpr std::array kAllLayouts = {kLayouts[0],      layout_of_3_9(), layout_of_3_10(),
                                    kLayouts[1],      kLayouts[2],     layout_of_3_13(),
                                    layout_of_3_14(), layout_of_3_15()};
static_assert(kAllLayouts.front().minor == 8 && kAllLayouts.back().minor == kNewestPython);

}  // namespace

const PythonLayout* find_python_layout(unsigned minor) noexcept {
  for (const PythonLayout& layout : kAllLayouts) {
    if (layout.minor == minor) return &layout;
  }
  return nullptr;
}

}  // namespace swipr::runtimes
