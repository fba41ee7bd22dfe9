// Distinct types for numbers that must not be mixed. No arithmetic on purpose.
// Context: anywhere, signal handlers included.
#pragma once

#include <compare>
#include <cstdint>

namespace swipr {

template <typename Tag, typename Representation>
struct Id {
  Representation value{};
  friend constexpr auto operator<=>(Id, Id) = default;
};

using Pid = Id<struct PidTag, std::int32_t>;
using Tid = Id<struct TidTag, std::int32_t>;
using ModuleId = Id<struct ModuleIdTag, std::uint32_t>;
using StackId = Id<struct StackIdTag, std::uint32_t>;  // 0: no stack
using ThreadIndex = Id<struct ThreadIndexTag, std::uint32_t>;

}  // namespace swipr
