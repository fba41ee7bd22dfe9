// Calls store the return address.
#include "preload/agent/sample/callers/leaf_caller.h"

namespace swipr::agent {

LeafCallers propose_leaf_callers(const ProcMemory& /*memory*/, const unwind::CodeMap& /*map*/,
                                 std::uint64_t /*pc*/, std::uint64_t /*sp*/) noexcept {
  return {};
}

LeafCall find_leaf_call(const ProcMemory& /*memory*/, const unwind::CodeMap& /*map*/,
                        const LeafCallers& /*callers*/) noexcept {
  return {};
}

}  // namespace swipr::agent
