// Prints where the CPython whose headers it is compiled with keeps what swipr reads, in the form of
// the table in preload/runtimes/python/python_layout_table.cc. For a new version, with its folder
// DIR of headers (…/include/python3.N):
//   cc -w -IDIR -IDIR/internal -o /tmp/python_layout python_layout.c && /tmp/python_layout
// From 3.13 on _PyRuntime describes itself: the program also prints where in the description (bytes
// from its start) the fields of kDescribedFields are.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>

#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#else
#include <frameobject.h>
#include <internal/pycore_gil.h>
#include <internal/pycore_pymem.h>
#endif
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe_structs.h>
#elif PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif

#define PUT(name, value) printf(".%s = %zu,\n", #name, (size_t)(value))

#if PY_VERSION_HEX >= 0x030e0000
typedef PyInterpreterState Interpreter;
#else
typedef struct _is Interpreter;
#endif
typedef struct _ts Thread;

static void put_interpreters(void) {
  PUT(runtime_interpreters, offsetof(struct pyruntimestate, interpreters.head));
#if PY_VERSION_HEX >= 0x030c0000
  PUT(runtime_gil, 0);
#else
  PUT(runtime_gil, offsetof(struct pyruntimestate, ceval.gil));
#endif
#if PY_VERSION_HEX >= 0x03090000
  PUT(runtime_collecting, 0);
#else
  PUT(runtime_collecting, offsetof(struct pyruntimestate, gc.collecting));
#endif
  PUT(interpreter_next, offsetof(Interpreter, next));
#if PY_VERSION_HEX >= 0x030b0000
  PUT(interpreter_threads, offsetof(Interpreter, threads.head));
#else
  PUT(interpreter_threads, offsetof(Interpreter, tstate_head));
#endif
#if PY_VERSION_HEX >= 0x030c0000
  PUT(interpreter_gil, offsetof(Interpreter, ceval.gil));
#else
  PUT(interpreter_gil, 0);
#endif
#if PY_VERSION_HEX >= 0x03090000
  PUT(interpreter_collecting, offsetof(Interpreter, gc.collecting));
#else
  PUT(interpreter_collecting, 0);
#endif
}

static void put_threads(void) {
  PUT(thread_id, offsetof(Thread, thread_id));
#if PY_VERSION_HEX >= 0x030b0000
  PUT(thread_native_id, offsetof(Thread, native_thread_id));
#else
  PUT(thread_native_id, 0);
#endif
#if PY_VERSION_HEX >= 0x030d0000
  PUT(thread_frame, offsetof(Thread, current_frame));
#elif PY_VERSION_HEX >= 0x030b0000
  PUT(thread_frame, offsetof(Thread, cframe));
#else
  PUT(thread_frame, offsetof(Thread, frame));
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
  PUT(cframe_frame, offsetof(_PyCFrame, current_frame));
  PUT(cframe_previous, offsetof(_PyCFrame, previous));
#else
  PUT(cframe_frame, 0);
  PUT(cframe_previous, 0);
#endif
}

static void put_frames(void) {
#if PY_VERSION_HEX >= 0x030b0000
  typedef struct _PyInterpreterFrame Frame;
  PUT(frame_previous, offsetof(Frame, previous));
#if PY_VERSION_HEX >= 0x030d0000
  PUT(frame_code, offsetof(Frame, f_executable));
  PUT(frame_position, offsetof(Frame, instr_ptr));
#else
  PUT(frame_code, offsetof(Frame, f_code));
  PUT(frame_position, offsetof(Frame, prev_instr));
#endif
  PUT(frame_owner, offsetof(Frame, owner));
#if PY_VERSION_HEX < 0x030c0000
  PUT(frame_is_entry, offsetof(Frame, is_entry));
#else
  PUT(frame_is_entry, 0);
#endif
#else
  typedef struct _frame Frame;
  PUT(frame_previous, offsetof(Frame, f_back));
  PUT(frame_code, offsetof(Frame, f_code));
  PUT(frame_position, offsetof(Frame, f_lasti));
  PUT(frame_owner, 0);
  PUT(frame_is_entry, 0);
#endif
}

static void put_code(void) {
  PUT(code_file, offsetof(PyCodeObject, co_filename));
  PUT(code_name, offsetof(PyCodeObject, co_name));
#if PY_VERSION_HEX >= 0x030b0000
  PUT(code_qualified_name, offsetof(PyCodeObject, co_qualname));
#else
  PUT(code_qualified_name, 0);
#endif
  PUT(code_first_line, offsetof(PyCodeObject, co_firstlineno));
#if PY_VERSION_HEX >= 0x030a0000
  PUT(code_lines, offsetof(PyCodeObject, co_linetable));
#else
  PUT(code_lines, offsetof(PyCodeObject, co_lnotab));
#endif
  PUT(code_constants, offsetof(PyCodeObject, co_consts));
#if PY_VERSION_HEX >= 0x030c0000
  PUT(code_version, offsetof(PyCodeObject, co_version));
#else
  PUT(code_version, 0);
#endif
#if PY_VERSION_HEX >= 0x030b0000
  PUT(code_first_traceable, offsetof(PyCodeObject, _co_firsttraceable));
  PUT(code_bytecode, offsetof(PyCodeObject, co_code_adaptive));
#else
  PUT(code_first_traceable, 0);
  PUT(code_bytecode, 0);
#endif
}

#if PY_VERSION_HEX >= 0x030d0000
#define AT(name, field) printf("// %s at %zu\n", #name, offsetof(_Py_DebugOffsets, field))
static void put_description(void) {
  AT(runtime_interpreters, runtime_state.interpreters_head);
  AT(interpreter_next, interpreter_state.next);
  AT(interpreter_threads, interpreter_state.threads_head);
  AT(interpreter_collecting, interpreter_state.gc);
  AT(interpreter_collecting, gc.collecting);
  AT(thread_frame, thread_state.current_frame);
  AT(thread_id, thread_state.thread_id);
  AT(thread_native_id, thread_state.native_thread_id);
  AT(frame_previous, interpreter_frame.previous);
  AT(frame_code, interpreter_frame.executable);
  AT(frame_position, interpreter_frame.instr_ptr);
  AT(frame_owner, interpreter_frame.owner);
  AT(code_file, code_object.filename);
  AT(code_name, code_object.name);
  AT(code_qualified_name, code_object.qualname);
  AT(code_lines, code_object.linetable);
  AT(code_first_line, code_object.firstlineno);
  AT(code_bytecode, code_object.co_code_adaptive);
  AT(text_ascii, unicode_object.asciiobject_size);
}
#else
static void put_description(void) {}
#endif

int main(void) {
  PUT(minor, PY_MINOR_VERSION);
  put_interpreters();
  put_threads();
  put_frames();
  put_code();
  PUT(text_ascii, sizeof(PyASCIIObject));
  PUT(text_other, sizeof(PyCompactUnicodeObject));
  put_description();
  return 0;
}
