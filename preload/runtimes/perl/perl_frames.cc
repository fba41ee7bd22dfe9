#include "preload/runtimes/perl/perl_frames.h"

namespace swipr::runtimes {

template void walk_perl(const PerlRuntime&, ProbedObjects&, std::uint64_t, TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
