// Frames that are recovered from instructions on x86-64 remain unknown here.
#include "preload/agent/sample/callers/return_place.h"
#include "preload/agent/sample/callers/vfork_caller.h"

namespace swipr::agent {

std::optional<StackPlace> ReturnPlaces::find(const ProcMemory& /*memory*/,
                                             const CodeGap& /*gap*/) noexcept {
  return std::nullopt;
}

std::optional<std::uint64_t> find_vfork_return(const ProcMemory& /*memory*/,
                                               const unwind::CodeMap& /*map*/, std::uint64_t /*pc*/,
                                               std::uint64_t /*below*/) noexcept {
  return std::nullopt;
}

}  // namespace swipr::agent
