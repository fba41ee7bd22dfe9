// Context: anywhere.
#pragma once

#include <cstddef>

namespace swipr::machine {

#if defined(__x86_64__)
inline constexpr std::size_t kLongestInstruction = 15;
#elif defined(__aarch64__)
inline constexpr std::size_t kLongestInstruction = 4;
#endif

}  // namespace swipr::machine
