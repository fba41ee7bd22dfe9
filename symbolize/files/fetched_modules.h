// Cache of module files that were fetched from recorded processes, by build-id. Each file is
// fetched once and is available after the process has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

class FetchedModules {
 public:
  // `folder` is created on the first store.  Bounds: 2 GiB for all files; the least recently
  // used ones are removed.
  explicit FetchedModules(std::string folder) : folder_(std::move(folder)) {}

  // None: not cached, or incomplete. `build_id` contains only hex digits.
  std::optional<ElfFile> find(const std::string& build_id) const;

  // Calls `fill` to write the module's file to a descriptor, and stores it if it has this
  // build-id. `fill` returns false if there is no file.
  void fetch(const std::string& build_id, const std::function<bool(int fd)>& fill) const;

 private:
  std::string path_of(const std::string& build_id) const { return folder_ + "/" + build_id; }

  std::string folder_;
};

}  // namespace swipr::symbolize
