// Functions, inlined functions and lines of one compilation unit, by address.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/address_map.h"
#include "symbolize/elf_file.h"
#include "symbolize/function_names.h"
#include "symbolize/work_limit.h"

namespace swipr::symbolize {

struct SourceLine {
  std::string_view file;  // empty: unknown
  std::uint32_t line = 0;
};

// One function of the chain at an address.
struct FunctionAt {
  const FunctionName* name = nullptr;
  bool inlined = false;
  SourceLine call;           // inlined only: where its caller calls it
  std::uint64_t offset = 0;  // not inlined only: from the function's entry, or from the start of
                             // the part that the compiler split off (.cold)
};

class UnitIndex {
 public:
  // Walks the unit's tree once: addresses are looked up thousands at a time, and libdw's own scope
  // search walks it once per address. Damage ends the walk and is remembered.
  // `tree` is `unit`, or of a skeleton the unit in its .dwo file.
  // Lifetime: as long as the Dwarf of `unit`, `image`, `limit`, whose end ends the walk, too.
  UnitIndex(const Dwarf_Die& unit, const Dwarf_Die& tree, const ElfFile& image, TextPool& texts,
            WorkLimit& limit);

  // Innermost first; empty: no function covers the address. `names` is the same in all calls.
  std::vector<FunctionAt> functions_at(ImageAddr address, FunctionNames& names);
  SourceLine line_at(ImageAddr address);

  bool damaged() const { return damaged_; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  struct Node {
    Dwarf_Die die;
    std::uint32_t parent;
    bool inlined;
    const FunctionName* name = nullptr;  // found out, with the call, when first asked for
    SourceLine call = {};
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  void walk(Dwarf_Die* parent, std::uint32_t function, int depth);
  void visit(Dwarf_Die* die, std::uint32_t function, int depth);
  bool add_ranges(Dwarf_Die* die, std::uint32_t node, int depth);
  void load_lines();
  SourceLine call_site(Dwarf_Die* inlined);
  std::uint64_t offset_in(Dwarf_Die* function, ImageAddr address);

  std::string whole_path(std::string path);
  std::string_view file_name(std::size_t index);

  const ElfFile* image_;
  TextPool* texts_;
  Dwarf_Die unit_;
  std::vector<Node> nodes_;
  std::vector<Interval> ranges_;  // only while walking
  AddressMap map_;
  WorkLimit* limit_;
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t last_die_ = 0;
  bool damaged_ = false;

  bool lines_loaded_ = false;
  Dwarf_Lines* lines_ = nullptr;
  std::size_t line_count_ = 0;
  Dwarf_Files* files_ = nullptr;
  std::size_t file_count_ = 0;
  std::vector<std::string_view> file_names_;
};

}  // namespace swipr::symbolize
