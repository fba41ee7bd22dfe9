// The search for callers of leaves finds that of vfork, too (leaf_caller.h).
#include "preload/agent/sample/callers/vfork_caller.h"

namespace swipr::agent {

std::optional<std::uint64_t> find_vfork_return(const ProcMemory& /*memory*/,
                                               const unwind::CodeMap& /*map*/, std::uint64_t /*pc*/,
                                               std::uint64_t /*below*/) noexcept {
  return std::nullopt;
}

}  // namespace swipr::agent
