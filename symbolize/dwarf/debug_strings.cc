#include "symbolize/dwarf/debug_strings.h"

#include <elf.h>
#include <gelf.h>

#include <functional>

namespace swipr::symbolize {
namespace {

bool is_string_section(std::string_view name) {
  return name == ".debug_str" || name == ".debug_line_str" || name == ".zdebug_str" ||
         name == ".debug_str.dwo";
}

}  // namespace

void DebugStrings::add_sections_of(Elf* elf) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* text = elf_strptr(elf, names, header.sh_name);
    const std::string_view name = text == nullptr ? std::string_view() : std::string_view(text);
    if (!name.starts_with(".debug_") && !name.starts_with(".zdebug_")) continue;
    const Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr || data->d_size == 0) continue;
    sections_.emplace_back(static_cast<const char*>(data->d_buf), data->d_size);
    if (is_string_section(name) && sections_.back().back() != '\0') terminated_ = false;
  }
}

const char* DebugStrings::checked(const char* text) const {
  if (text == nullptr) return nullptr;
  for (const std::string_view section : sections_) {
    const char* end = section.data() + section.size();
    if (std::less<>()(text, section.data()) || !std::less<>()(text, end)) continue;
    const std::string_view rest(text, static_cast<std::size_t>(end - text));
    return rest.find('\0') == std::string_view::npos ? nullptr : text;
  }
  return nullptr;
}

}  // namespace swipr::symbolize
