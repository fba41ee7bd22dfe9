#include "symbolize/dwarf/dwarf_sections.h"

#include <elf.h>
#include <gelf.h>

#include <string_view>
#include <utility>

namespace swipr::symbolize {

DwarfSections DwarfSections::of(Elf* elf) {
  DwarfSections sections;
  const std::pair<std::string_view, std::span<const std::byte>*> wanted[] = {
      {".debug_info", &sections.info},
      {".debug_abbrev", &sections.abbrev},
      {".debug_addr", &sections.addr},
      {".debug_line", &sections.line},
      {".debug_line_str", &sections.line_str},
      {".debug_str", &sections.str},
      {".debug_ranges", &sections.ranges},
      {".debug_rnglists", &sections.rnglists},
      {".debug_str_offsets", &sections.str_offsets},
      {".debug_cu_index", &sections.cu_index}};
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return sections;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* text = elf_strptr(elf, names, header.sh_name);
    if (text == nullptr) continue;
    std::string_view name = text;
    if (name.ends_with(".dwo")) name.remove_suffix(4);
    for (const auto& [title, bytes] : wanted) {
      if (name != title || !bytes->empty()) continue;
      const Elf_Data* data = elf_getdata(section, nullptr);
      if (data == nullptr || data->d_buf == nullptr) continue;
      *bytes = {static_cast<const std::byte*>(data->d_buf), data->d_size};
    }
  }
  return sections;
}

}  // namespace swipr::symbolize
