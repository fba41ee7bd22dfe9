// The names that a recording carries, by place in a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/profile/recording.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

class EmbeddedIndex {
 public:
  // Lifetime: `names` outlives this object.
  explicit EmbeddedIndex(const profile::EmbeddedNames& names);

  // nullopt: the place was not looked up. Texts live in `texts`.
  std::optional<std::vector<symbolize::SourceFunction>> find(const profile::Module& module,
                                                             FileOffset offset,
                                                             symbolize::TextPool& texts) const;

 private:
  const profile::EmbeddedNames& names_;
  using Addresses = std::unordered_map<std::uint64_t, std::uint32_t>;  // index by file offset
  std::map<std::pair<std::string_view, std::string_view>, Addresses> files_;  // path, build-id
};

}  // namespace swipr::commands
