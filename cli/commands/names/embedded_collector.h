// Functions that were looked up, in the form in which a recording stores them.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/profile/recording/recording.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

class EmbeddedCollector {
 public:
  void add(const profile::Module& module, FileOffset offset,
           const std::vector<symbolize::SourceFunction>& functions);
  profile::EmbeddedNames take() && { return std::move(names_); }

 private:
  std::uint32_t text(std::string_view value);

  profile::EmbeddedNames names_;
  // Lifetime: texts of the symbolizer's pool, paths of the recording.
  std::unordered_map<std::string_view, std::uint32_t> texts_ = {{std::string_view(), 0}};
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> files_;
};

}  // namespace swipr::commands
