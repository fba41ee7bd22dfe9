#include "preload/runtimes/python/python_frames.h"

namespace swipr::runtimes {

template PythonWalkEnd walk_python(const PythonRuntime&, ProbedObjects&, std::uint64_t,
                                   TokenBuffer&) noexcept;
template std::uint64_t find_python_thread(const PythonRuntime&, ProbedObjects&,
                                          const ThreadIdentity&) noexcept;

}  // namespace swipr::runtimes
