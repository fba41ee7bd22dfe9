// Functions, inlined functions and lines of one compilation unit, by address.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/base/work_limit.h"
#include "symbolize/dwarf/code_ranges.h"
#include "symbolize/dwarf/debug_strings.h"
#include "symbolize/dwarf/dwarf_sections.h"
#include "symbolize/dwarf/function_names.h"
#include "symbolize/dwarf/line_table.h"
#include "symbolize/dwarf/unit_tree.h"
#include "symbolize/elf/address_map.h"
#include "symbolize/elf/elf_file.h"

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
  // Walks the tree of the unit once, because addresses are looked up thousands at a time.
  // Damage or `limit` ends the walk. `tree` is `unit`, or for a skeleton the unit in its .dwo
  // file, with the sections `tree_sections`.
  // Lifetime: that of the Dwarf of `unit`, `sections`, `image` and `limit`.
  UnitIndex(const Dwarf_Die& unit, const Dwarf_Die& tree, const DwarfSections& sections,
            const DwarfSections& tree_sections, const DebugStrings& strings, const ElfFile& image,
            TextPool& texts, WorkLimit& limit);

  // Innermost first; empty: no function covers the address. `names` is the same in all calls.
  std::vector<FunctionAt> functions_at(ImageAddr address, FunctionNames& names);
  SourceLine line_at(ImageAddr address);
  // The function that is not inlined and begins there.
  std::optional<Dwarf_Die> function_beginning_at(ImageAddr address);
  // Adds functions that are inlined somewhere in this unit and accepted by `matches`.
  struct Inlined {
    std::string_view name;
    std::string_view into;  // the function whose code it is part of
  };
  void find_inlined(FunctionNames& names, const std::function<bool(std::string_view)>& matches,
                    std::vector<Inlined>* found);

  bool damaged() const { return damaged_; }
  // Grows on the first lookup of lines.
  std::uint64_t memory_bytes() const { return memory_bytes_ + lines_.memory_bytes(); }

 private:
  struct Node {
    std::uint64_t offset;  // of its entry
    std::uint32_t parent;
    bool inlined;
    const FunctionName* name = nullptr;  // resolved on first use, with the call
    std::uint32_t call_line = 0;
    std::uint32_t call_file = 0;
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  std::uint32_t visit(const FunctionDie& function, int depth, std::uint32_t parent);
  const std::vector<CodeRanges::Piece>& pieces_of(const FunctionDie& function);
  void complete(Node* node, FunctionNames& names);
  void load_lines();
  std::uint64_t offset_in(const Node& node, ImageAddr address);

  std::string_view folder() const;
  std::string_view file_name(std::size_t index);

  const ElfFile* image_;
  TextPool* texts_;
  const DwarfSections* sections_;
  const DebugStrings* strings_;
  Dwarf_Die unit_;
  std::optional<UnitTree> tree_;
  std::optional<CodeRanges> code_ranges_;
  bool is_split_ = false;                  // libdw cannot tell a split unit's ranges
  std::vector<CodeRanges::Piece> pieces_;  // of one function
  std::vector<Node> nodes_;
  std::vector<Interval> ranges_;  // only while walking
  AddressMap map_;
  WorkLimit* limit_;
  std::uint64_t memory_bytes_ = 0;
  bool damaged_ = false;

  bool lines_loaded_ = false;
  LineTable lines_;
  std::vector<std::string_view> file_names_;
};

}  // namespace swipr::symbolize
