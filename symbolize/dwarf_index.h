// DWARF of one module: which unit covers an address, and lazily what is in that unit.
#pragma once

#include <elfutils/libdw.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/address_map.h"
#include "symbolize/debug_strings.h"
#include "symbolize/elf_file.h"
#include "symbolize/function_names.h"
#include "symbolize/symbolizer.h"
#include "symbolize/unit_index.h"

namespace swipr::symbolize {

class DwarfIndex {
 public:
  // Null: `file` has no DWARF. Errors: it is damaged, or needs a supplementary file that is not
  // there. Lifetime: both files outlive the index. `image` tells which addresses are code.
  static host::Result<std::unique_ptr<DwarfIndex>> load(const ElfFile& file, const ElfFile& image,
                                                        const Options& options);
  ~DwarfIndex();
  DwarfIndex(const DwarfIndex&) = delete;
  DwarfIndex& operator=(const DwarfIndex&) = delete;

  // Innermost first. Empty: no function covers the address; `line` may still be known (assembly).
  std::vector<SourceFunction> find(ImageAddr address, SourceLine* line);

  // A unit that was damaged has been met.
  bool damaged() const { return damaged_; }
  // A .dwo file that was needed and cannot be used; empty: none.
  const std::string& missing_split_file() const { return missing_split_; }

 private:
  struct Unit {
    Dwarf_Die die;
    std::unique_ptr<UnitIndex> index;
    bool has_ranges = false;
  };
  struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };

  DwarfIndex(const ElfFile& image, bool demangle) : image_(&image), names_(demangle, strings_) {}
  void load_units();
  void add_unit(const Dwarf_Die& unit, std::vector<Interval>* intervals);
  void add_address_ranges(std::vector<Interval>* intervals);
  bool has_usable_paths(Dwarf_Die* unit) const;
  UnitIndex* unit_at(ImageAddr address);

  const ElfFile* image_;
  std::optional<ElfFile> supplementary_file_;
  std::unique_ptr<Dwarf, EndDwarf> supplementary_;
  std::unique_ptr<Dwarf, EndDwarf> dwarf_;
  std::vector<Unit> units_;
  AddressMap unit_map_;
  DebugStrings strings_;
  FunctionNames names_;
  bool damaged_ = false;
  std::string missing_split_;
};

}  // namespace swipr::symbolize
