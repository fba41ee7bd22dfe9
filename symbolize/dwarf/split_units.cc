#include "symbolize/dwarf/split_units.h"

#include <dwarf.h>

#include <span>
#include <utility>

#include "symbolize/elf/section_image.h"
#include "symbolize/files/package_index.h"

namespace swipr::symbolize {
namespace {

const char* text_attribute(Dwarf_Die* die, unsigned int name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

std::span<const std::byte> slice_of(std::span<const std::byte> section,
                                    PackagedSlices::Slice slice) {
  if (slice.offset > section.size() || slice.size > section.size() - slice.offset) return {};
  return section.subspan(slice.offset, slice.size);
}

struct Skeleton {
  std::uint64_t id;
  std::string path;  // of its .dwo file
};

std::optional<Skeleton> read_skeleton(Dwarf_Die* unit, const DebugStrings& strings) {
  std::uint8_t type = 0;
  std::uint64_t id = 0;
  const int status =
      dwarf_cu_info(unit->cu, nullptr, &type, nullptr, nullptr, &id, nullptr, nullptr);
  if (status != 0 || type != DW_UT_skeleton) return std::nullopt;
  const char* name = strings.checked(text_attribute(unit, DW_AT_dwo_name));
  if (name == nullptr) name = strings.checked(text_attribute(unit, DW_AT_GNU_dwo_name));
  if (name == nullptr) return std::nullopt;
  const char* folder = strings.checked(text_attribute(unit, DW_AT_comp_dir));
  const bool is_whole = *name == '/' || folder == nullptr;
  return Skeleton{id, is_whole ? name : std::string(folder) + "/" + name};
}

}  // namespace

struct SplitUnits::Opened {
  struct EndDwarf {
    void operator()(Dwarf* handle) const { dwarf_end(handle); }
  };

  bool open_dwarf(Elf* elf) {
    dwarf.reset(elf == nullptr ? nullptr : dwarf_begin_elf(elf, DWARF_C_READ, nullptr));
    if (dwarf != nullptr) sections = DwarfSections::of(elf);
    return dwarf != nullptr;
  }

  std::optional<SplitUnit> find(std::uint64_t id) const {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die tree;
    while (dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &tree, nullptr) == 0) {
      std::uint8_t type = 0;
      std::uint64_t found = 0;
      dwarf_cu_info(unit, nullptr, &type, nullptr, nullptr, &found, nullptr, nullptr);
      if (type == DW_UT_split_compile && found == id) return SplitUnit{tree, &sections};
    }
    return std::nullopt;
  }

  // What the Dwarf reads from: one of the two.
  std::optional<ElfFile> file;
  std::optional<SectionImage> slices;
  std::unique_ptr<Dwarf, EndDwarf> dwarf;
  DwarfSections sections;
};

std::optional<ElfFile> find_package(const ElfFile& file, const ElfFile& image) {
  for (const ElfFile* beside : {&file, &image}) {
    if (beside->origin().empty()) continue;
    auto package = ElfFile::open(beside->origin() + ".dwp");
    if (package && package->load_debug_info()) return std::move(*package);
  }
  return std::nullopt;
}

SplitUnits::SplitUnits() = default;
SplitUnits::~SplitUnits() = default;

void SplitUnits::use_package(ElfFile package, DebugStrings* strings) {
  package_ = std::move(package);
  package_sections_ = DwarfSections::of(package_->elf());
  strings->add_sections_of(package_->elf());
}

std::optional<SplitUnit> SplitUnits::find(Dwarf_Die* skeleton, DebugStrings* strings) {
  const auto wanted = read_skeleton(skeleton, *strings);
  if (!wanted) return std::nullopt;
  Opened* opened = open_packaged(wanted->id);
  if (opened == nullptr) opened = open_file(wanted->path, strings);
  auto found = opened == nullptr ? std::nullopt : opened->find(wanted->id);
  if (!found && missing_.empty()) missing_ = wanted->path;
  return strings->are_terminated() ? found : std::nullopt;
}

// libdw of Debian 12 reads no packages. It is shown the slices as if they were a .dwo file.
SplitUnits::Opened* SplitUnits::open_packaged(std::uint64_t id) {
  if (!package_) return nullptr;
  const auto [entry, is_new] = packaged_.try_emplace(id);
  if (!is_new) return entry->second.get();
  const DwarfSections& all = package_sections_;
  const auto place = find_in_package(all.cu_index, id);
  if (!place) return nullptr;
  const SectionImage::Section sections[] = {
      {".debug_info.dwo", slice_of(all.info, place->info)},
      {".debug_abbrev.dwo", slice_of(all.abbrev, place->abbrev)},
      {".debug_str_offsets.dwo", slice_of(all.str_offsets, place->str_offsets)},
      {".debug_rnglists.dwo", slice_of(all.rnglists, place->rnglists)},
      {".debug_str.dwo", all.str}};
  auto opened = std::make_unique<Opened>();
  opened->slices.emplace(sections);
  if (opened->open_dwarf(opened->slices->elf())) entry->second = std::move(opened);
  return entry->second.get();
}

SplitUnits::Opened* SplitUnits::open_file(const std::string& path, DebugStrings* strings) {
  const auto [entry, is_new] = files_.try_emplace(path);
  if (!is_new) return entry->second.get();
  auto file = ElfFile::open(path);
  if (!file || !file->load_debug_info()) return nullptr;
  auto opened = std::make_unique<Opened>();
  opened->file = std::move(*file);
  if (!opened->open_dwarf(opened->file->elf())) return nullptr;
  strings->add_sections_of(opened->file->elf());
  entry->second = std::move(opened);
  return entry->second.get();
}

}  // namespace swipr::symbolize
