// Split DWARF: units of skeletons in .dwo files or in a package (.dwp).
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "symbolize/dwarf/debug_strings.h"
#include "symbolize/dwarf/dwarf_sections.h"
#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

struct SplitUnit {
  Dwarf_Die tree;                 // its own entry
  const DwarfSections* sections;  // that it consists of
};

// Opens NAME.dwp beside `file` (with the skeletons) or beside `image` (with the code) and loads
// its debug information. None: there is no usable package.
std::optional<ElfFile> find_package(const ElfFile& file, const ElfFile& image);

// One thread at a time.
class SplitUnits {
 public:
  SplitUnits();
  ~SplitUnits();
  SplitUnits(const SplitUnits&) = delete;
  SplitUnits& operator=(const SplitUnits&) = delete;

  // Strings of units are added to `strings`.
  void use_package(ElfFile package, DebugStrings* strings);
  const std::optional<ElfFile>& package() const { return package_; }

  // Searches the package, then the .dwo file at its original path. None: the unit is not a
  // skeleton, or its split unit is not usable (see missing()).
  // Lifetime: that of this object.
  std::optional<SplitUnit> find(Dwarf_Die* skeleton, DebugStrings* strings);

  // The first .dwo file that was needed and cannot be used; empty: none.
  const std::string& missing() const { return missing_; }

 private:
  struct Opened;

  Opened* open_packaged(std::uint64_t id);
  Opened* open_file(const std::string& path, DebugStrings* strings);

  std::optional<ElfFile> package_;
  DwarfSections package_sections_;
  std::map<std::uint64_t, std::unique_ptr<Opened>> packaged_;  // null: damaged or absent
  std::map<std::string, std::unique_ptr<Opened>> files_;       // null: cannot be used
  std::string missing_;
};

}  // namespace swipr::symbolize
