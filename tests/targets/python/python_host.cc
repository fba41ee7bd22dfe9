// python_host SCRIPT: embeds CPython. A thread of its own runs the script, which calls back into
// this program (host.call), which calls Python again.
#include <Python.h>

#include <thread>

#include "tests/targets/target.h"

TARGET_FRAME PyObject* host_call(PyObject*, PyObject* callee) {
  return PyObject_CallFunctionObjArgs(callee, nullptr);
}

TARGET_FRAME int host_run(const char* path) {
  std::FILE* const file = std::fopen(path, "r");
  if (file == nullptr) return 1;
  return PyRun_SimpleFileEx(file, path, /*closeit=*/1);
}

namespace {

PyMethodDef methods[] = {{"call", host_call, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyModuleDef host{
    PyModuleDef_HEAD_INIT, "host", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyObject* make_host() { return PyModule_Create(&host); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || PyImport_AppendInittab("host", make_host) != 0) return 2;
  Py_InitializeEx(/*initsigs=*/0);
  PyThreadState* const main_thread = PyEval_SaveThread();
  int failed = 1;
  std::thread worker([&failed, path = argv[1]] {
    const PyGILState_STATE state = PyGILState_Ensure();
    failed = host_run(path);
    PyGILState_Release(state);
  });
  worker.join();
  PyEval_RestoreThread(main_thread);
  return Py_FinalizeEx() != 0 || failed != 0 ? 1 : 0;
}
