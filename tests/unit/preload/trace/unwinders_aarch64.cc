#include "tests/unit/preload/trace/unwinders.h"

namespace swipr::trace {

// The cross compiler has no libunwind.
std::vector<Walk> other_unwinders() { return {}; }

}  // namespace swipr::trace
