#include "cli/profile/recording/runtime_languages.h"

namespace swipr::profile {

std::vector<Language> runtime_languages(const Recording& recording, RuntimeFrames frames) {
  std::vector<Language> languages(recording.processes.size(), Language::kNative);
  for (const Runtime& runtime : recording.runtimes) {
    Language& language = languages[runtime.process];
    const bool is_read = runtime.refusal.empty();
    const bool is_wanted = is_read == (frames == RuntimeFrames::kRead);
    if (is_wanted && language == Language::kNative) language = runtime.language;
  }
  return languages;
}

}  // namespace swipr::profile
