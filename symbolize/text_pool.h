// Texts that are kept once each. Profiles name the same few thousand functions and files millions
// of times.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

namespace swipr::symbolize {

class TextPool {
 public:
  // Thread: any. Lifetime: of the result, the pool's.
  std::string_view intern(std::string_view text) {
    if (text.empty()) return {};
    const std::lock_guard lock(mutex_);
    const auto found = texts_.find(text);
    return found != texts_.end() ? *found : *texts_.emplace(text).first;
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::mutex mutex_;
  std::unordered_set<std::string, Hash, std::equal_to<>> texts_;
};

}  // namespace swipr::symbolize
