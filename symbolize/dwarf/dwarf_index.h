// DWARF of one module: finds the unit of an address and indexes units on demand.
// Thread: one at a time; other threads use another().
#pragma once

#include <elfutils/libdw.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/base/spec.h"
#include "symbolize/dwarf/debug_strings.h"
#include "symbolize/dwarf/dwarf_sections.h"
#include "symbolize/dwarf/function_names.h"
#include "symbolize/dwarf/split_units.h"
#include "symbolize/dwarf/unit_index.h"
#include "symbolize/elf/address_map.h"
#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {

class DwarfIndex {
 public:
  // Null: `file` has no DWARF. Errors: it is damaged, or needs a supplementary file that is not
  // there. Lifetime: `image`, which tells which addresses are code, `options` and `texts` outlive
  // the index.
  static host::Result<std::unique_ptr<DwarfIndex>> load(ElfFile& file, const ElfFile& image,
                                                        const Options& options, TextPool& texts);
  // A copy for another thread, with an empty index. Null: out of memory.
  std::unique_ptr<DwarfIndex> another() const;

  // Number of the unit that covers an address; the same in all copies.
  std::optional<std::uint32_t> unit_of(ImageAddr address) const { return unit_map_.find(address); }
  // Bytes of DWARF indexed so far; their memory is held until destruction.
  std::uint64_t indexed_bytes() const { return indexed_bytes_; }
  // Memory of the index, without that of libdw.
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  ~DwarfIndex();
  DwarfIndex(const DwarfIndex&) = delete;
  DwarfIndex& operator=(const DwarfIndex&) = delete;

  // Innermost first. Empty: no function covers the address; `line` may still be known (assembly).
  std::vector<SourceFunction> find(ImageAddr address, SourceLine* line);

  // The entry of the function that is not inlined and begins there, with what reads its attributes.
  // Lifetime: that of the index.
  struct FunctionEntry {
    Dwarf_Die die;
    const DebugStrings* strings;
    WorkLimit* limit;
  };
  std::optional<FunctionEntry> find_entry(ImageAddr begin);

  // Where code of this line begins, or of the first line behind it that has code, in files whose
  // path is or ends with `file`. Reads the line tables of all units.
  std::vector<ImageAddr> find_line(std::string_view file, std::uint32_t line);
  // Functions that `matches` accepts and that are inlined somewhere, with the functions into which.
  // Reads all units, one after the other.  Bounds: 64 of them.
  std::vector<UnitIndex::Inlined> find_inlined(
      const std::function<bool(std::string_view)>& matches);

  // True if Options::work_limit was exceeded; find() returns nothing then.
  bool too_slow() const { return limit_.exceeded(); }
  // True if a damaged unit was found.
  bool damaged() const { return damaged_; }
  // A .dwo file that was needed and cannot be used; empty: none.
  const std::string& missing_split_file() const { return split_units_.missing(); }

 private:
  struct Unit {
    Dwarf_Die die;
    std::unique_ptr<UnitIndex> index;
    bool has_ranges = false;
  };
  struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };

  DwarfIndex(ElfFile file, const ElfFile& image, const Options& options, TextPool& texts)
      : file_(std::move(file)),
        image_(&image),
        options_(&options),
        limit_(options.work_limit),
        texts_(&texts),
        names_(options.demangle, strings_, texts) {}
  static host::Result<std::unique_ptr<DwarfIndex>> load_shared(
      const ElfFile& file, const std::optional<ElfFile>& supplementary, const ElfFile& image,
      const Options& options, TextPool& texts, bool looks_for_supplementary);
  void use_package(const ElfFile& package);
  host::Result<void> attach_supplementary(const std::optional<ElfFile>& known,
                                          bool looks_for_supplementary);
  void load_units();
  void add_unit(const Dwarf_Die& unit, std::vector<Interval>* intervals);
  void add_address_ranges(std::vector<Interval>* intervals);
  bool has_usable_paths(Dwarf_Die* unit) const;
  UnitIndex* unit_at(ImageAddr address);
  void load_index(Unit& unit);

  ElfFile file_;
  const ElfFile* image_;
  const Options* options_;
  WorkLimit limit_;
  TextPool* texts_;
  std::uint64_t indexed_bytes_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::optional<ElfFile> supplementary_file_;
  std::unique_ptr<Dwarf, EndDwarf> supplementary_;
  std::unique_ptr<Dwarf, EndDwarf> dwarf_;
  SplitUnits split_units_;
  bool has_skeletons_ = false;
  std::vector<Unit> units_;
  AddressMap unit_map_;
  DwarfSections sections_;
  DebugStrings strings_;
  FunctionNames names_;
  bool damaged_ = false;
};

}  // namespace swipr::symbolize
