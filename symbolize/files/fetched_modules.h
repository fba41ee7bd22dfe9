// Files of modules that cannot be opened from here and were fetched from the recorded process: kept
// by build-id, so that each is fetched once and names are there when the process has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

class FetchedModules {
 public:
  // `folder` is made when something is kept. Bounds: 2 GiB for all files together; the ones that
  // were used longest ago go first.
  explicit FetchedModules(std::string folder) : folder_(std::move(folder)) {}

  // None: not kept, or not whole. `build_id` has nothing but hex digits.
  std::optional<ElfFile> find(const std::string& build_id) const;

  // Has `fill` write the module's file to a descriptor, and keeps it if it has this build-id; from
  // then on find() finds it. `fill` returns false when there is nothing to be had.
  void fetch(const std::string& build_id, const std::function<bool(int fd)>& fill) const;

 private:
  std::string path_of(const std::string& build_id) const { return folder_ + "/" + build_id; }

  std::string folder_;
};

}  // namespace swipr::symbolize
