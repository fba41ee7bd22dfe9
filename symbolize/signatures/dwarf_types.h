// Types as DWARF describes them: names, sizes, and what a value of a type is.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "symbolize/base/signature.h"
#include "symbolize/base/work_limit.h"
#include "symbolize/dwarf/debug_strings.h"

namespace swipr::symbolize {

class DwarfTypes {
 public:
  // Lifetime: `strings` and `limit` outlive this object.
  DwarfTypes(const DebugStrings& strings, WorkLimit& limit) : strings_(&strings), limit_(&limit) {}

  bool is_exhausted() const { return limit_->step(); }
  // Empty: none.
  std::string_view name_of(Dwarf_Die die) const;
  // Without typedefs and qualifiers. nullopt: void, or a cycle.
  std::optional<Dwarf_Die> bare_type_of(Dwarf_Die die) const;
  // nullopt: unknown.
  std::optional<std::uint64_t> size_of(Dwarf_Die type, int depth = 0) const;
  // As C++ writes the type of `die`, without scopes.
  std::string text_of_type(Dwarf_Die die, int depth = 0) const;

  // A value of a bare type that is no record and no array: kind, bits. Pointers have the place of
  // their string. nullopt: not understood.
  std::optional<Value> scalar(Dwarf_Die type) const;
  // Where the string of an object of this type is, if its address is in a register.
  StringPlace string_place(Dwarf_Die type) const;

 private:
  StringPlace string_behind(Dwarf_Die pointer) const;
  void add_enumerators(Dwarf_Die type, Value& value) const;
  std::string own_text(Dwarf_Die type, int depth) const;

  const DebugStrings* strings_;
  WorkLimit* limit_;
};

// --- attributes
std::optional<std::uint64_t> find_number(Dwarf_Die die, unsigned int attribute);
bool has_flag(Dwarf_Die die, unsigned int attribute);
// The entry that it refers to; of an instance, also that of what it is an instance of.
std::optional<Dwarf_Die> find_reference(Dwarf_Die die, unsigned int attribute);
bool is_record(Dwarf_Die type);
// Of a member: bits from the begin of its record. nullopt: computed at run time.
std::optional<std::uint64_t> find_bit_offset(Dwarf_Die member, std::uint64_t bytes);

// Calls `use` for each child, until it returns false.
template <typename Use>
void for_children(Dwarf_Die parent, WorkLimit& limit, const Use& use) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  do {
    if (limit.step() || !use(child)) return;
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace swipr::symbolize
