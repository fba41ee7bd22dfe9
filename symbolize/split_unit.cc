#include "symbolize/split_unit.h"

#include <dwarf.h>
#include <sys/stat.h>

namespace swipr::symbolize {
namespace {

const char* text_attribute(Dwarf_Die* die, unsigned int name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

// libdw opens the file by itself, and a pipe would keep it waiting.
bool waits_when_opened(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

}  // namespace

std::optional<Dwarf_Die> find_split_unit(Dwarf_Die* skeleton, DebugStrings* strings,
                                         std::string* missing) {
  const char* name = strings->checked(text_attribute(skeleton, DW_AT_dwo_name));
  if (name == nullptr) name = strings->checked(text_attribute(skeleton, DW_AT_GNU_dwo_name));
  if (name == nullptr) return std::nullopt;
  const char* folder = strings->checked(text_attribute(skeleton, DW_AT_comp_dir));
  const std::string path = folder == nullptr ? name : std::string(folder) + "/" + name;
  if (missing->empty()) *missing = path;
  if (waits_when_opened(*name == '/' ? name : path)) return std::nullopt;
  Dwarf_Die split;
  std::uint8_t type = 0;
  if (dwarf_cu_info(skeleton->cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) !=
      0) {
    return std::nullopt;
  }
  if (type != DW_UT_skeleton || split.addr == nullptr) return std::nullopt;
  strings->add_sections_of(dwarf_getelf(dwarf_cu_getdwarf(split.cu)));
  if (!strings->are_terminated()) return std::nullopt;
  if (*missing == path) missing->clear();
  return split;
}

}  // namespace swipr::symbolize
