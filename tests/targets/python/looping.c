/* An extension module of CPython's stable ABI: looping.each(callee) calls it in a loop of C, until
 * it returns something true. */
#define Py_LIMITED_API 0x03080000
#include <Python.h>

__attribute__((noipa, used)) PyObject* looping_each(PyObject* self, PyObject* callee) {
  (void)self;
  int is_done = 0;
  while (is_done == 0) {
    PyObject* const result = PyObject_CallFunctionObjArgs(callee, NULL);
    if (result == NULL) return NULL;
    is_done = PyObject_IsTrue(result);
    Py_DECREF(result);
  }
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"each", looping_each, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "looping", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_looping(void) { return PyModule_Create(&module); }
