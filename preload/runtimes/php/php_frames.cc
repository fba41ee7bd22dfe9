#include "preload/runtimes/php/php_frames.h"

namespace swipr::runtimes {

template void walk_php(const PhpRuntime&, ProbedObjects&, const PhpRegisters&,
                       TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
