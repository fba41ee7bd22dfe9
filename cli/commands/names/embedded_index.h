// The names stored in a recording, by file and offset.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/profile/recording/recording.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

class EmbeddedIndex {
 public:
  // Lifetime: `names` outlives this object.
  explicit EmbeddedIndex(const profile::EmbeddedNames& names);

  // Returns nullopt if the recording has no entry for this offset. `texts` owns the strings.
  std::optional<std::vector<symbolize::SourceFunction>> find(const profile::Module& module,
                                                             FileOffset offset,
                                                             symbolize::TextPool& texts) const;

 private:
  const profile::EmbeddedNames& names_;
  using Addresses = std::unordered_map<std::uint64_t, std::uint32_t>;  // index by file offset
  std::map<std::pair<std::string_view, std::string_view>, Addresses> files_;  // path, build-id
};

}  // namespace swipr::commands
