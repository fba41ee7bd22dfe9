// Whether a mapped image holds the runtime of a language.
#pragma once

#include <cstdint>

namespace swipr::runtimes {

enum class DetectionState : std::uint8_t {
  kAbsent,    // the image holds none
  kStarting,  // it does not run yet: ask again
  kFound,     // its frames can be read
  kRefused,   // it holds one whose frames must not be read; a reason says why
};

}  // namespace swipr::runtimes
