// Split DWARF: the units that skeletons refer to, in .dwo files or in the package (.dwp) of all of
// them.
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

// NAME.dwp beside `file`, which has the skeletons, or beside `image`, whose code they describe.
// Its debug information is loaded. None: there is none that can be used.
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

  // In the package, else in the .dwo file, which must be where the compiler wrote it.
  // None: the unit is not a skeleton, or what it refers to cannot be used: see missing().
  // Lifetime: of the result, this object's.
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
