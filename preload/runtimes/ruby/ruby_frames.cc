#include "preload/runtimes/ruby/ruby_frames.h"

namespace swipr::runtimes {

template RubyWalkEnd walk_ruby(const RubyRuntime&, ProbedObjects&, std::uint64_t,
                               TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
