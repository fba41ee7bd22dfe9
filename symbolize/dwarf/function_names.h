// Names of DWARF functions. Each is resolved and demangled once, however often it is inlined.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolize/dwarf/debug_strings.h"
#include "symbolize/text/text_pool.h"

namespace swipr::symbolize {

struct FunctionName {
  std::string_view name;
  std::string_view linkage_name;  // empty: DWARF has none
  std::uint32_t start_line = 0;   // of the declaration; 0: unknown
};

class FunctionNames {
 public:
  // Lifetime: `strings` and `texts` outlive this object.
  FunctionNames(bool demangle, const DebugStrings& strings, TextPool& texts)
      : demangle_(demangle), strings_(&strings), texts_(&texts) {}

  // `function` is a subprogram or an inlined subroutine; abstract origins and specifications are
  // followed. Without a linkage name that can be demangled, the enclosing namespaces and classes
  // qualify the name, unless the unit is C or assembly.
  // Lifetime: until this object ends.
  const FunctionName& name_of(const Dwarf_Die& function);

 private:
  struct Scope {
    std::string name;
    std::int32_t parent;  // -1: the unit itself
  };
  // Scopes of the subprograms declared in one unit.
  struct UnitScopes {
    std::vector<Scope> scopes;
    std::unordered_map<const void*, std::int32_t> scope_of;  // by a DIE's address
  };

  FunctionName resolve(Dwarf_Die* function);
  std::string qualified_name(Dwarf_Die* function, const char* name);
  const UnitScopes& scopes_of_unit(Dwarf_Die* function);
  void collect(Dwarf_Die* parent, std::int32_t scope, int depth, UnitScopes* result);

  const char* string_attribute(Dwarf_Die* die, unsigned int name) const;
  std::string scope_name(Dwarf_Die* scope) const;

  bool demangle_;
  const DebugStrings* strings_;
  TextPool* texts_;
  std::unordered_map<const void*, FunctionName> names_;
  std::unordered_map<const void*, UnitScopes> units_;
};

}  // namespace swipr::symbolize
