#include "symbolize/dwarf/unit_index.h"

#include <dwarf.h>

#include <filesystem>
#include <optional>

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxNodes = std::size_t{1} << 22;
constexpr std::size_t kMaxRanges = std::size_t{1} << 23;

std::optional<Dwarf_Word> number_attribute(Dwarf_Die* die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, name, &attribute) == nullptr) return std::nullopt;
  if (dwarf_formudata(&attribute, &value) != 0) return std::nullopt;
  return value;
}

// Within the unit; others lead elsewhere.
bool is_local_reference(std::uint16_t form) {
  return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 ||
         form == DW_FORM_ref8 || form == DW_FORM_ref_udata;
}

}  // namespace

UnitIndex::UnitIndex(const Dwarf_Die& unit, const Dwarf_Die& tree, const DwarfSections& sections,
                     const DwarfSections& tree_sections, const DebugStrings& strings,
                     const ElfFile& image, TextPool& texts, WorkLimit& limit)
    : image_(&image),
      texts_(&texts),
      sections_(&sections),
      strings_(&strings),
      unit_(unit),
      limit_(&limit) {
  if (limit_->look()) return;
  tree_ = UnitTree::open(tree, tree_sections, limit);
  if (!tree_) {
    damaged_ = true;
    return;
  }
  is_split_ = tree.cu != unit.cu;
  code_ranges_.emplace(unit, tree_->format(), sections, tree_sections);
  const auto visit_function = [this](const FunctionDie& function, int depth, std::uint32_t parent) {
    return visit(function, depth, parent);
  };
  if (!tree_->walk(kNone, visit_function, limit)) damaged_ = !limit.exceeded();
  memory_bytes_ = nodes_.capacity() * sizeof(Node) + ranges_.size() * 2 * sizeof(Interval) +
                  tree_->memory_bytes();
  map_ = AddressMap(std::move(ranges_));
  ranges_ = {};
}

// Code that the linker dropped keeps its ranges, at address 0 or at another one without code.
std::uint32_t UnitIndex::visit(const FunctionDie& function, int depth, std::uint32_t parent) {
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  const std::size_t before = ranges_.size();
  for (const auto& [begin, end] : pieces_of(function)) {
    if (begin >= end || !image_->is_code({begin})) continue;
    if (ranges_.size() >= kMaxRanges || nodes_.size() >= kMaxNodes) {
      damaged_ = true;
      break;
    }
    ranges_.push_back({{begin}, {end}, static_cast<std::uint64_t>(depth), node});
  }
  if (ranges_.size() == before) return parent;
  nodes_.push_back({.offset = function.offset, .parent = parent, .inlined = function.inlined});
  return node;
}

const std::vector<CodeRanges::Piece>& UnitIndex::pieces_of(const FunctionDie& function) {
  pieces_.clear();
  if (code_ranges_->read(function, &pieces_, *limit_) || is_split_) return pieces_;
  Dwarf_Die die = tree_->die_at(function.offset);
  Dwarf_Addr base = 0, begin = 0, end = 0;
  ptrdiff_t next = 0;
  while ((next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0 && !limit_->step()) {
    pieces_.push_back({begin, end});
  }
  return pieces_;
}

std::vector<FunctionAt> UnitIndex::functions_at(ImageAddr address, FunctionNames& names) {
  std::vector<FunctionAt> chain;
  const auto found = map_.find(address);
  std::uint32_t index = found ? *found : kNone;
  while (index != kNone) {
    Node& node = nodes_[index];
    complete(&node, names);
    chain.push_back({.name = node.name,
                     .inlined = node.inlined,
                     .call = {file_name(node.call_file), node.call_line},
                     .offset = node.inlined ? 0 : offset_in(node, address)});
    index = node.inlined ? node.parent : kNone;
  }
  return chain;
}

std::optional<Dwarf_Die> UnitIndex::function_beginning_at(ImageAddr address) {
  const auto found = map_.find(address);
  std::uint32_t index = found ? *found : kNone;
  while (index != kNone && nodes_[index].inlined) index = nodes_[index].parent;
  if (index == kNone || offset_in(nodes_[index], address) != 0) return std::nullopt;
  return tree_->die_at(nodes_[index].offset);
}

void UnitIndex::find_inlined(FunctionNames& names,
                             const std::function<bool(std::string_view)>& matches,
                             std::vector<Inlined>* found) {
  for (std::size_t index = 0; index < nodes_.size() && !limit_->step(); ++index) {
    if (!nodes_[index].inlined) continue;
    complete(&nodes_[index], names);
    const std::string_view name = nodes_[index].name->name;
    if (!matches(name)) continue;
    std::uint32_t outer = nodes_[index].parent;
    while (outer != kNone && nodes_[outer].inlined) outer = nodes_[outer].parent;
    if (outer == kNone) continue;
    complete(&nodes_[outer], names);
    found->push_back({name, nodes_[outer].name->name});
  }
}

void UnitIndex::complete(Node* node, FunctionNames& names) {
  if (node->name != nullptr) return;
  load_lines();
  const FunctionDie function = tree_->function_at(node->offset);
  std::uint64_t named = node->offset;
  if (node->inlined) {
    const std::uint64_t origin = tree_->offset() + function.origin.number;
    if (is_local_reference(function.origin.form) && tree_->contains(origin)) named = origin;
    node->call_line = static_cast<std::uint32_t>(function.call_line.number);
    node->call_file = static_cast<std::uint32_t>(function.call_file.number);
  }
  node->name = &names.name_of(tree_->die_at(named));
}

std::uint64_t UnitIndex::offset_in(const Node& node, ImageAddr address) {
  const FunctionDie function = tree_->function_at(node.offset);
  for (const auto& [begin, end] : pieces_of(function)) {
    if (address.value < begin || address.value >= end) continue;
    if (!function.ranges) return address.value - begin;
    const std::uint64_t entry = code_ranges_->entry_of(function).value_or(begin);
    const bool holds_entry = entry >= begin && entry <= address.value;
    return address.value - (holds_entry ? entry : begin);
  }
  return 0;
}

void UnitIndex::load_lines() {
  if (lines_loaded_) return;
  lines_loaded_ = true;
  const auto offset = number_attribute(&unit_, DW_AT_stmt_list);
  if (!offset) return;
  lines_ = LineTable(*sections_, *offset, folder(), *image_, *limit_);
  file_names_.resize(lines_.file_count());
}

std::string_view UnitIndex::folder() const {
  Dwarf_Die unit = unit_;
  Dwarf_Attribute attribute;
  const char* text =
      strings_->checked(dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute)));
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// Paths in DWARF 5 are relative to the folder that the compiler ran in.
std::string_view UnitIndex::file_name(std::size_t index) {
  if (index >= file_names_.size()) return {};
  std::string_view& name = file_names_[index];
  if (!name.empty()) return name;
  std::string path = lines_.path_of(index);
  const std::string_view compiler = folder();
  if (!path.empty() && !path.starts_with('/') && compiler.starts_with('/')) {
    path = (std::filesystem::path(compiler) / path).lexically_normal();
  }
  name = texts_->intern(path);
  return name;
}

SourceLine UnitIndex::line_at(ImageAddr address) {
  load_lines();
  const LineTable::Row* row = lines_.find(address);
  // Line 0: code of no line in particular; its file is still known.
  return row == nullptr ? SourceLine() : SourceLine{file_name(row->file), row->line};
}

}  // namespace swipr::symbolize
