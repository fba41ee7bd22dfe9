// Names that earlier conversions found, on disk: one file per module, by build-id. Files are
// written beside their place and renamed, so that any number of processes may use the folder;
// damaged and foreign ones are ignored.
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

  // `folder` is made when something is written. Bounds: `max_bytes` for all files together; the
  // ones that were used longest ago go first.
  NameCache(std::string folder, std::uint64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // `signature` says where the names come from and how they are written; entries with another one
  // are not read. Empty: none. Lifetime: texts live in `texts`.
  Entries load(const std::string& build_id, std::string_view signature, TextPool& texts) const;
  // Replaces the module's file. Failures (a full disk, a read-only home) leave the cache as it is.
  void store(const std::string& build_id, std::string_view signature, const Entries& entries) const;

 private:
  std::string path_of(const std::string& build_id) const;

  std::string folder_;
  std::uint64_t max_bytes_;
};

}  // namespace swipr::symbolize
