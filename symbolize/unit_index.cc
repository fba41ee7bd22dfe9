#include "symbolize/unit_index.h"

#include <dwarf.h>

#include <filesystem>
#include <optional>

namespace swipr::symbolize {
namespace {

constexpr int kMaxDepth = 256;  // of the tree; real ones reach about 60
constexpr std::size_t kMaxNodes = std::size_t{1} << 22;
constexpr std::size_t kMaxRanges = std::size_t{1} << 23;

// What may hold functions with code, below a unit or below a function (local classes, lambdas,
// nested functions).
bool is_container(int tag) {
  switch (tag) {
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
      return true;
    default:
      return false;
  }
}

std::optional<Dwarf_Word> number_attribute(Dwarf_Die* die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, name, &attribute) == nullptr) return std::nullopt;
  if (dwarf_formudata(&attribute, &value) != 0) return std::nullopt;
  return value;
}

}  // namespace

UnitIndex::UnitIndex(const Dwarf_Die& unit, const Dwarf_Die& tree, const ElfFile& image,
                     TextPool& texts, WorkLimit& limit)
    : image_(&image), texts_(&texts), unit_(unit), limit_(&limit) {
  Dwarf_Die root = tree;
  if (!limit_->look()) walk(&root, kNone, 0);
  memory_bytes_ = nodes_.capacity() * sizeof(Node) + ranges_.size() * 2 * sizeof(Interval);
  map_ = AddressMap(std::move(ranges_));
  ranges_ = {};
}

void UnitIndex::walk(Dwarf_Die* parent, std::uint32_t function, int depth) {
  if (depth > kMaxDepth) {
    damaged_ = true;
    return;
  }
  Dwarf_Die die;
  int status = dwarf_child(parent, &die);
  while (status == 0 && !damaged_ && !limit_->step()) {
    visit(&die, function, depth);
    status = dwarf_siblingof(&die, &die);
  }
  if (status < 0) damaged_ = true;
}

void UnitIndex::visit(Dwarf_Die* die, std::uint32_t function, int depth) {
  const int tag = dwarf_tag(die);
  const bool inlined = tag == DW_TAG_inlined_subroutine;
  if (!inlined && tag != DW_TAG_subprogram) {
    if (is_container(tag)) walk(die, function, depth + 1);
    return;
  }
  // In the order of a walk offsets only grow, so a tree that leads back to itself ends here.
  const std::uint64_t offset = dwarf_dieoffset(die);
  if (offset <= last_die_ || nodes_.size() >= kMaxNodes) {
    damaged_ = true;
    return;
  }
  last_die_ = offset;
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  if (add_ranges(die, node, depth)) {
    nodes_.push_back({.die = *die, .parent = function, .inlined = inlined});
    function = node;
  }
  walk(die, function, depth + 1);
}

// Code that the linker dropped keeps its ranges, at address 0 or at another one without code.
bool UnitIndex::add_ranges(Dwarf_Die* die, std::uint32_t node, int depth) {
  bool added = false;
  Dwarf_Addr base = 0, begin = 0, end = 0;
  ptrdiff_t next = 0;
  while ((next = dwarf_ranges(die, next, &base, &begin, &end)) > 0 && !limit_->step()) {
    if (begin >= end || !image_->is_code({begin})) continue;
    if (ranges_.size() >= kMaxRanges) {
      damaged_ = true;
      break;
    }
    ranges_.push_back({{begin}, {end}, static_cast<std::uint64_t>(depth), node});
    added = true;
  }
  return added;
}

std::vector<FunctionAt> UnitIndex::functions_at(ImageAddr address, FunctionNames& names) {
  std::vector<FunctionAt> chain;
  const auto found = map_.find(address);
  std::uint32_t index = found ? *found : kNone;
  while (index != kNone) {
    Node& node = nodes_[index];
    if (node.name == nullptr) {
      node.name = &names.name_of(node.die);
      if (node.inlined) node.call = call_site(&node.die);
    }
    chain.push_back({.name = node.name,
                     .inlined = node.inlined,
                     .call = node.call,
                     .offset = node.inlined ? 0 : offset_in(&node.die, address)});
    index = node.inlined ? node.parent : kNone;
  }
  return chain;
}

std::uint64_t UnitIndex::offset_in(Dwarf_Die* function, ImageAddr address) {
  Dwarf_Addr entry = 0;
  const bool has_entry = dwarf_entrypc(function, &entry) == 0;
  Dwarf_Addr base = 0, begin = 0, end = 0;
  ptrdiff_t next = 0;
  while ((next = dwarf_ranges(function, next, &base, &begin, &end)) > 0 && !limit_->step()) {
    if (address.value < begin || address.value >= end) continue;
    const bool holds_entry = has_entry && entry >= begin && entry <= address.value;
    return address.value - (holds_entry ? entry : begin);
  }
  return 0;
}

void UnitIndex::load_lines() {
  if (lines_loaded_) return;
  lines_loaded_ = true;
  if (dwarf_getsrclines(&unit_, &lines_, &line_count_) != 0) line_count_ = 0;
  if (dwarf_getsrcfiles(&unit_, &files_, &file_count_) != 0) file_count_ = 0;
  file_names_.resize(file_count_);
}

// Paths in DWARF 5 are relative to the folder that the compiler ran in.
std::string UnitIndex::whole_path(std::string path) {
  Dwarf_Attribute attribute;
  const char* folder = dwarf_formstring(dwarf_attr(&unit_, DW_AT_comp_dir, &attribute));
  if (path.starts_with('/') || folder == nullptr || *folder != '/') return path;
  return (std::filesystem::path(folder) / path).lexically_normal();
}

std::string_view UnitIndex::file_name(std::size_t index) {
  if (index >= file_names_.size()) return {};
  std::string_view& name = file_names_[index];
  if (name.empty()) {
    const char* text = dwarf_filesrc(files_, index, nullptr, nullptr);
    if (text != nullptr) name = texts_->intern(whole_path(text));
  }
  return name;
}

SourceLine UnitIndex::call_site(Dwarf_Die* inlined) {
  load_lines();
  SourceLine call;
  call.line = static_cast<std::uint32_t>(number_attribute(inlined, DW_AT_call_line).value_or(0));
  const auto file = number_attribute(inlined, DW_AT_call_file);
  if (file) call.file = file_name(*file);
  return call;
}

SourceLine UnitIndex::line_at(ImageAddr address) {
  load_lines();
  // The last row at or below the address; libdw has sorted them.
  std::size_t low = 0, high = line_count_;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    Dwarf_Addr row = 0;
    if (dwarf_lineaddr(dwarf_onesrcline(lines_, middle), &row) != 0) return {};
    if (row <= address.value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return {};
  Dwarf_Line* row = dwarf_onesrcline(lines_, low - 1);
  bool ends_sequence = false;
  int line = 0;
  if (dwarf_lineendsequence(row, &ends_sequence) != 0 || ends_sequence) return {};
  // Line 0: code of no line in particular; its file is still known.
  if (dwarf_lineno(row, &line) != 0 || line < 0) return {};
  Dwarf_Files* files = nullptr;
  std::size_t file = 0;
  if (dwarf_line_file(row, &files, &file) != 0 || files != files_) return {};
  return {file_name(file), static_cast<std::uint32_t>(line)};
}

}  // namespace swipr::symbolize
