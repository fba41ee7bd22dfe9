// Checks strings that libdw returns. libdw returns pointers into sections without checking that
// the string ends inside the section.
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

  // Returns false if a string section does not end with a NUL. libdw calls strlen on such
  // strings (paths of line tables), so the DWARF of such a file must not be used.
  bool are_terminated() const { return terminated_; }

  // Returns null for null and for strings that are not terminated inside a debug section.
  const char* checked(const char* text) const;

 private:
  std::vector<std::string_view> sections_;
  bool terminated_ = true;
};

}  // namespace swipr::symbolize
