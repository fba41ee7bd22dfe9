#include "preload/runtimes/r/r_frames.h"

namespace swipr::runtimes {

template void walk_r(const RRuntime&, ProbedObjects&, std::uint64_t, TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
