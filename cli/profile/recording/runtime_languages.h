// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {

enum class RuntimeFrames : std::uint8_t { kRead, kUnread };

// By process: the language of the first of its runtimes whose frames swipr reads, or does not.
// kNative: there is none.
std::vector<Language> runtime_languages(const Recording& recording, RuntimeFrames frames);

}  // namespace swipr::profile
