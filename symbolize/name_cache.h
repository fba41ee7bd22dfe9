// On-disk cache of names from earlier conversions, one file per module, by build-id. Files are
// written under a temporary name and renamed, so that any number of processes can use the
// folder. Damaged files and files of other users are ignored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/core/addresses.h"
#include "symbolize/base/spec.h"
#include "symbolize/text/text_pool.h"

namespace swipr::symbolize {

class NameCache {
 public:
  using Entries =
      std::unordered_map<std::uint64_t, std::vector<SourceFunction>>;  // by image address

  // `folder` is created on the first write.  Bounds: `max_bytes` for all files; the least
  // recently used ones are removed.
  NameCache(std::string folder, std::uint64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // `signature` identifies the sources and the format of the names; files with another one are
  // ignored. Returns nothing if there is no entry.
  // Lifetime: strings are owned by `texts`.
  Entries load(const std::string& build_id, std::string_view signature, TextPool& texts) const;
  // Replaces the module's file. Failures (a full disk, a read-only home) leave the cache as it is.
  void store(const std::string& build_id, std::string_view signature, const Entries& entries) const;

 private:
  std::string path_of(const std::string& build_id) const;

  std::string folder_;
  std::uint64_t max_bytes_;
};

}  // namespace swipr::symbolize
