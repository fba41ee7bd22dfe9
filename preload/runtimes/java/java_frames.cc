#include "preload/runtimes/java/java_frames.h"

namespace swipr::runtimes {

template class JavaStepper<ProbedObjects>;
template JavaWalkEnd walk_java_thread(const JavaRuntime&, ProbedObjects&, std::uint64_t,
                                      TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
