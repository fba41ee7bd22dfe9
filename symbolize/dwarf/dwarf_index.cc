#include "symbolize/dwarf/dwarf_index.h"

#include <dwarf.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "symbolize/files/debug_files.h"

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxUnits = std::size_t{1} << 20;
constexpr std::size_t kMaxUnitRanges = std::size_t{1} << 24;

// Smaller ranges take precedence, so that a unit that covers the whole image does not hide others.
Interval unit_interval(Dwarf_Addr begin, Dwarf_Addr end, std::size_t unit) {
  return {{begin}, {end}, ~(end - begin), static_cast<std::uint32_t>(unit)};
}

std::uint64_t bytes_of_unit(Dwarf_Die* unit) {
  Dwarf_Off next = 0;
  std::size_t header = 0;
  const Dwarf_Off start = dwarf_dieoffset(unit) - dwarf_cuoffset(unit);
  if (dwarf_next_unit(dwarf_cu_getdwarf(unit->cu), start, &next, &header, nullptr, nullptr, nullptr,
                      nullptr, nullptr, nullptr) != 0) {
    return 0;
  }
  return next - start;
}

}  // namespace

DwarfIndex::~DwarfIndex() = default;

host::Result<std::unique_ptr<DwarfIndex>> DwarfIndex::load(ElfFile& file, const ElfFile& image,
                                                           const Options& options,
                                                           TextPool& texts) {
  if (auto loaded = file.load_debug_info(); !loaded) return loaded.error();
  auto index = load_shared(file, std::nullopt, image, options, texts, true);
  if (index && *index != nullptr && (*index)->has_skeletons_) {
    if (auto package = find_package(file, image)) (*index)->use_package(*package);
  }
  return index;
}

std::unique_ptr<DwarfIndex> DwarfIndex::another() const {
  auto index = load_shared(file_, supplementary_file_, *image_, *options_, *texts_, false);
  if (!index) return nullptr;
  if (*index != nullptr && split_units_.package()) (*index)->use_package(*split_units_.package());
  return std::move(*index);
}

void DwarfIndex::use_package(const ElfFile& package) {
  if (auto own = package.share()) split_units_.use_package(std::move(*own), &strings_);
}

host::Result<std::unique_ptr<DwarfIndex>> DwarfIndex::load_shared(
    const ElfFile& file, const std::optional<ElfFile>& supplementary, const ElfFile& image,
    const Options& options, TextPool& texts, bool looks_for_supplementary) {
  auto own = file.share();
  if (!own) return own.error();
  std::unique_ptr<DwarfIndex> index(new DwarfIndex(std::move(*own), image, options, texts));
  index->dwarf_.reset(dwarf_begin_elf(index->file_.elf(), DWARF_C_READ, nullptr));
  if (index->dwarf_ == nullptr) return std::unique_ptr<DwarfIndex>();
  if (auto attached = index->attach_supplementary(supplementary, looks_for_supplementary);
      !attached) {
    return attached.error();
  }
  index->sections_ = DwarfSections::of(index->file_.elf());
  index->strings_.add_sections_of(index->file_.elf());
  if (index->supplementary_file_) {
    index->strings_.add_sections_of(index->supplementary_file_->elf());
  }
  if (!index->strings_.are_terminated()) return host::Error("damaged string section");
  index->load_units();
  if (index->too_slow()) return host::Error("reading it takes too long");
  if (index->units_.empty() && index->damaged_) return host::Error("no unit can be read");
  if (index->units_.empty()) return std::unique_ptr<DwarfIndex>();
  return index;
}

// `known` is the one that another index found.
host::Result<void> DwarfIndex::attach_supplementary(const std::optional<ElfFile>& known,
                                                    bool looks_for_supplementary) {
  if (known) {
    auto own = known->share();
    if (!own) return own.error();
    supplementary_file_ = std::move(*own);
  } else if (looks_for_supplementary) {
    SupplementaryFile found = find_supplementary_file(dwarf_.get(), *options_);
    if (found.wanted && !found.file) {
      return host::Error("its supplementary (dwz) debug file is missing");
    }
    supplementary_file_ = std::move(found.file);
    if (supplementary_file_) {
      if (auto loaded = supplementary_file_->load_debug_info(); !loaded) return loaded.error();
    }
  }
  if (!supplementary_file_) return {};
  supplementary_.reset(dwarf_begin_elf(supplementary_file_->elf(), DWARF_C_READ, nullptr));
  if (supplementary_ == nullptr) return host::Error("its dwz debug file is damaged");
  dwarf_setalt(dwarf_.get(), supplementary_.get());
  return {};
}

// All compilers write ranges of units. .debug_aranges is optional (clang omits it) and is used
// only for units without ranges.
void DwarfIndex::load_units() {
  std::vector<Interval> intervals;
  Dwarf_CU* current = nullptr;
  int status = 0;
  while (units_.size() < kMaxUnits && intervals.size() < kMaxUnitRanges && !limit_.look()) {
    Dwarf_CU* next = nullptr;
    Dwarf_Half version = 0;
    std::uint8_t type = 0;
    Dwarf_Die unit;
    status = dwarf_get_units(dwarf_.get(), current, &next, &version, &type, &unit, nullptr);
    if (status != 0) break;
    current = next;
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    has_skeletons_ = has_skeletons_ || type == DW_UT_skeleton;
    if (has_usable_paths(&unit)) {
      add_unit(unit, &intervals);
    } else {
      damaged_ = true;
    }
  }
  if (status < 0) damaged_ = true;
  add_address_ranges(&intervals);
  unit_map_ = AddressMap(std::move(intervals));
}

// libdw concatenates these with names of source files without checking their ends.
bool DwarfIndex::has_usable_paths(Dwarf_Die* unit) const {
  for (const unsigned int name : {DW_AT_comp_dir, DW_AT_name}) {
    Dwarf_Attribute attribute;
    const char* path = dwarf_formstring(dwarf_attr(unit, name, &attribute));
    if (path != nullptr && strings_.checked(path) == nullptr) return false;
  }
  return true;
}

void DwarfIndex::add_unit(const Dwarf_Die& unit, std::vector<Interval>* intervals) {
  const std::size_t index = units_.size();
  units_.push_back({.die = unit, .index = nullptr, .has_ranges = false});
  Dwarf_Addr base = 0, begin = 0, end = 0;
  ptrdiff_t next = 0;
  while ((next = dwarf_ranges(&units_.back().die, next, &base, &begin, &end)) > 0 &&
         !limit_.step()) {
    if (begin < end && image_->is_code({begin}) && intervals->size() < kMaxUnitRanges) {
      intervals->push_back(unit_interval(begin, end, index));
      units_.back().has_ranges = true;
    }
  }
}

void DwarfIndex::add_address_ranges(std::vector<Interval>* intervals) {
  std::unordered_map<Dwarf_Off, std::size_t> without_ranges;
  for (std::size_t index = 0; index < units_.size(); ++index) {
    Unit& unit = units_[index];
    if (!unit.has_ranges) without_ranges.emplace(dwarf_dieoffset(&unit.die), index);
  }
  Dwarf_Aranges* table = nullptr;
  std::size_t count = 0;
  if (without_ranges.empty() || dwarf_getaranges(dwarf_.get(), &table, &count) != 0) return;
  for (std::size_t index = 0; index < count && intervals->size() < kMaxUnitRanges; ++index) {
    Dwarf_Addr begin = 0;
    Dwarf_Word length = 0;
    Dwarf_Off unit = 0;
    if (dwarf_getarangeinfo(dwarf_onearange(table, index), &begin, &length, &unit) != 0) continue;
    const auto found = without_ranges.find(unit);
    if (found == without_ranges.end() || !image_->is_code({begin})) continue;
    intervals->push_back(unit_interval(begin, begin + length, found->second));
  }
}

UnitIndex* DwarfIndex::unit_at(ImageAddr address) {
  const auto found = unit_map_.find(address);
  if (!found) return nullptr;
  load_index(units_[*found]);
  return units_[*found].index.get();
}

void DwarfIndex::load_index(Unit& unit) {
  if (unit.index != nullptr) return;
  const auto split = split_units_.find(&unit.die, &strings_);
  SplitUnit tree = split.value_or(SplitUnit{unit.die, &sections_});
  unit.index = std::make_unique<UnitIndex>(unit.die, tree.tree, sections_, *tree.sections, strings_,
                                           *image_, *texts_, limit_);
  memory_bytes_ += unit.index->memory_bytes();
  indexed_bytes_ += bytes_of_unit(&tree.tree);
  damaged_ = damaged_ || unit.index->damaged();
}

std::optional<DwarfIndex::FunctionEntry> DwarfIndex::find_entry(ImageAddr begin) {
  UnitIndex* unit = unit_at(begin);
  if (unit == nullptr || limit_.step()) return std::nullopt;
  const auto function = unit->function_beginning_at(begin);
  return function ? std::optional(FunctionEntry{*function, &strings_, &limit_}) : std::nullopt;
}

std::vector<ImageAddr> DwarfIndex::find_line(std::string_view file, std::uint32_t line) {
  std::vector<ImageAddr> found;
  std::uint32_t nearest = ~std::uint32_t{0};
  for (Unit& unit : units_) {
    if (limit_.look()) break;
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    if (dwarf_formudata(dwarf_attr(&unit.die, DW_AT_stmt_list, &attribute), &offset) != 0) continue;
    const char* folder =
        strings_.checked(dwarf_formstring(dwarf_attr(&unit.die, DW_AT_comp_dir, &attribute)));
    const LineTable lines(sections_, offset, folder == nullptr ? "" : folder, *image_, limit_);
    for (const LineTable::Row& row : lines.find_line(file, line)) {
      if (row.line > nearest) break;
      if (row.line < nearest) found.clear();
      nearest = row.line;
      found.push_back({row.address});
    }
  }
  return found;
}

std::vector<UnitIndex::Inlined> DwarfIndex::find_inlined(
    const std::function<bool(std::string_view)>& matches) {
  constexpr std::size_t kMost = 64;
  std::vector<UnitIndex::Inlined> found;
  for (Unit& unit : units_) {
    if (limit_.look() || found.size() >= kMost) break;
    const bool was_there = unit.index != nullptr;
    load_index(unit);
    unit.index->find_inlined(names_, matches, &found);
    if (was_there) continue;
    memory_bytes_ -= std::min(memory_bytes_, unit.index->memory_bytes());
    unit.index.reset();
  }
  if (found.size() > kMost) found.resize(kMost);
  return found;
}

std::vector<SourceFunction> DwarfIndex::find(ImageAddr address, SourceLine* line) {
  std::vector<SourceFunction> functions;
  UnitIndex* unit = unit_at(address);
  if (unit == nullptr || limit_.step()) return functions;
  const std::uint64_t before = unit->memory_bytes();
  *line = unit->line_at(address);
  SourceLine at = *line;
  memory_bytes_ += unit->memory_bytes() - before;
  for (const FunctionAt& found : unit->functions_at(address, names_)) {
    functions.push_back({.name = found.name->name,
                         .linkage_name = found.name->linkage_name,
                         .file = at.file,
                         .line = at.line,
                         .start_line = found.name->start_line,
                         .offset = found.offset,
                         .inlined = found.inlined});
    at = found.call;
  }
  return functions;
}

}  // namespace swipr::symbolize
