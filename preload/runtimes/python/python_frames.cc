#include "preload/runtimes/python/python_frames.h"

namespace swipr::runtimes {

template PythonWalkEnd walk_python(const PythonRuntime&, ProbedObjects&, const PythonThreadStates&,
                                   TokenBuffer&) noexcept;
template PythonThreadStates find_python_states(const PythonRuntime&, ProbedObjects&,
                                               const ThreadIdentity&, unsigned) noexcept;

}  // namespace swipr::runtimes
