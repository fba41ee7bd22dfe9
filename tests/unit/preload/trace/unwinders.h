// Walks of unwinders, which add the pcs of their caller's frames to Addresses.
#pragma once

#include <cstdint>
#include <vector>

namespace swipr::trace {

using Addresses = std::vector<std::uint64_t>;
using Walk = void (*)(void* addresses);

// Those that this machine has beside libgcc's.
std::vector<Walk> other_unwinders();

}  // namespace swipr::trace
