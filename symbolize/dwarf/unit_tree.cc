#include "symbolize/dwarf/unit_tree.h"

#include <dwarf.h>

#include <algorithm>
#include <cstddef>

namespace swipr::symbolize {

std::optional<UnitTree> UnitTree::open(const Dwarf_Die& unit, const DwarfSections& sections,
                                       WorkLimit& limit) {
  UnitTree tree;
  tree.unit_ = unit;
  tree.begin_ = dwarf_dieoffset(&tree.unit_) - dwarf_cuoffset(&tree.unit_);
  Dwarf_Off next = 0, abbreviations = 0;
  std::size_t header_bytes = 0;
  if (dwarf_next_unit(dwarf_cu_getdwarf(unit.cu), tree.begin_, &next, &header_bytes,
                      &tree.format_.version, &abbreviations, &tree.format_.address_bytes,
                      &tree.format_.offset_bytes, nullptr, nullptr) != 0) {
    return std::nullopt;
  }
  const std::uint64_t end = std::min<std::uint64_t>(next, sections.info.size());
  tree.root_ = dwarf_cuoffset(&tree.unit_);
  if (tree.begin_ >= end || tree.root_ >= end - tree.begin_) return std::nullopt;
  tree.bytes_ = sections.info.subspan(tree.begin_, end - tree.begin_);
  auto parsed = Abbreviations::parse(sections.abbrev, abbreviations, tree.format_, limit);
  if (!parsed) return std::nullopt;
  tree.abbreviations_ = *std::move(parsed);
  return tree;
}

// Containers may hold functions with code, below a unit or below a function (local classes,
// lambdas, nested functions).
UnitTree::Kind UnitTree::kind_of(std::uint16_t tag) {
  switch (tag) {
    case DW_TAG_subprogram:
      return Kind::kFunction;
    case DW_TAG_inlined_subroutine:
      return Kind::kInlined;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
    case DW_TAG_common_block:
      return Kind::kContainer;
    default:
      return Kind::kOther;
  }
}

RawValue UnitTree::read_value(ByteCursor& cursor, const AttributeSpec& spec) const {
  if (spec.form == DW_FORM_implicit_const) {
    return {static_cast<std::uint64_t>(spec.constant), spec.form};
  }
  if (spec.form == DW_FORM_sdata) return {static_cast<std::uint64_t>(cursor.sleb()), spec.form};
  if (spec.layout.shape == ValueShape::kLeb) return {cursor.uleb(), spec.form};
  if (spec.layout.shape == ValueShape::kFixed) {
    return {read_number(cursor, spec.layout.bytes), spec.form};
  }
  skip_value(cursor, spec.layout, format_);
  return {0, spec.form};
}

FunctionDie UnitTree::read_function(ByteCursor& cursor, const Abbreviation& entry,
                                    std::uint64_t* sibling) const {
  FunctionDie function;
  for (const AttributeSpec& spec : abbreviations_.attributes_of(entry)) {
    const auto read = [&] { return read_value(cursor, spec); };
    switch (spec.name) {
      case DW_AT_low_pc:
        function.low_pc = read();
        break;
      case DW_AT_high_pc:
        function.high_pc = read();
        break;
      case DW_AT_ranges:
        function.ranges = read();
        break;
      case DW_AT_entry_pc:
        function.entry_pc = read();
        break;
      case DW_AT_abstract_origin:
        function.origin = read();
        break;
      case DW_AT_call_file:
        function.call_file = read();
        break;
      case DW_AT_call_line:
        function.call_line = read();
        break;
      case DW_AT_sibling:
        *sibling = read().number;
        break;
      default:
        skip_value(cursor, spec.layout, format_);
    }
  }
  return function;
}

void UnitTree::skip_values(ByteCursor& cursor, const Abbreviation& entry,
                           std::uint64_t* sibling) const {
  if (entry.is_fixed && !entry.has_children) return cursor.skip(entry.fixed_bytes);
  for (const AttributeSpec& spec : abbreviations_.attributes_of(entry)) {
    const bool is_sibling = spec.name == DW_AT_sibling && spec.form != DW_FORM_ref_addr;
    if (is_sibling) {
      *sibling = read_value(cursor, spec).number;
    } else {
      skip_value(cursor, spec.layout, format_);
    }
  }
}

FunctionDie UnitTree::function_at(std::uint64_t offset) const {
  ByteCursor cursor(bytes_.subspan(offset - begin_));
  const Abbreviation* entry = abbreviations_.find(cursor.uleb());
  if (entry == nullptr) return {};
  std::uint64_t sibling = 0;
  FunctionDie function = read_function(cursor, *entry, &sibling);
  function.offset = offset;
  function.inlined = entry->tag == DW_TAG_inlined_subroutine;
  return function;
}

Dwarf_Die UnitTree::die_at(std::uint64_t offset) const {
  Dwarf_Die die{};
  const std::uint64_t from_unit = offset - begin_ - root_;
  die.addr = static_cast<char*>(unit_.addr) + from_unit;
  die.cu = unit_.cu;
  return die;
}

}  // namespace swipr::symbolize
