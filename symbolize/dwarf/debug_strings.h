// Bounds of the strings that libdw hands out: it returns pointers into sections and does not look
// whether the string ends before its section does.
#pragma once

#include <libelf.h>

#include <string_view>
#include <vector>

namespace swipr::symbolize {

class DebugStrings {
 public:
  // Call it after dwarf_begin_elf, which replaces compressed sections.
  // Lifetime: as long as `elf`.
  void add_sections_of(Elf* elf);

  // False when a string section does not end with a string's end. libdw measures such strings
  // itself (paths of line tables), so DWARF of such a file must not be used at all.
  bool are_terminated() const { return terminated_; }

  // Null stays null; so does what is not a terminated string in a debug section.
  const char* checked(const char* text) const;

 private:
  std::vector<std::string_view> sections_;
  bool terminated_ = true;
};

}  // namespace swipr::symbolize
