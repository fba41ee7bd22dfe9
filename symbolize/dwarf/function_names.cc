#include "symbolize/dwarf/function_names.h"

#include <dwarf.h>

#include <optional>
#include <string_view>

#include "symbolize/text/demangle.h"

namespace swipr::symbolize {
namespace {

constexpr int kMaxOrigins = 16;  // libdw's own bound for such chains
constexpr int kMaxScopeDepth = 64;
constexpr std::size_t kMaxScopes = std::size_t{1} << 20;
constexpr std::size_t kMaxNameBytes = std::size_t{64} << 10;

std::optional<Dwarf_Die> follow(Dwarf_Die* die, unsigned int attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Die target;
  if (dwarf_attr(die, attribute_name, &attribute) == nullptr) return std::nullopt;
  if (dwarf_formref_die(&attribute, &target) == nullptr) return std::nullopt;
  return target;
}

bool is_mangled(std::string_view name) { return name.starts_with("_Z") || name.starts_with("_R"); }

// The DIE that `function` is an instance of, where names and scopes are found.
Dwarf_Die declaration_of(Dwarf_Die function) {
  for (int step = 0; step < kMaxOrigins; ++step) {
    auto next = follow(&function, DW_AT_abstract_origin);
    if (!next) next = follow(&function, DW_AT_specification);
    if (!next) break;
    function = *next;
  }
  return function;
}

// Languages whose functions live in no scope and whose names are their linkage names.
bool is_flat_language(Dwarf_Die* function) {
  Dwarf_Die unit;
  if (dwarf_diecu(function, &unit, nullptr, nullptr) == nullptr) return true;
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
      return true;
    default:
      return false;
  }
}

bool is_scope(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
      return true;
    default:
      return false;
  }
}

}  // namespace

const FunctionName& FunctionNames::name_of(const Dwarf_Die& function) {
  Dwarf_Die named = function;
  // All inlined copies share what they are copies of. Concrete functions keep their own: a
  // constructor's C1 and C2 have one declaration and two linkage names.
  if (dwarf_tag(&named) == DW_TAG_inlined_subroutine) {
    if (auto origin = follow(&named, DW_AT_abstract_origin)) named = *origin;
  }
  const auto [entry, is_new] = names_.try_emplace(named.addr);
  if (is_new) entry->second = resolve(&named);
  return entry->second;
}

FunctionName FunctionNames::resolve(Dwarf_Die* function) {
  FunctionName result;
  const char* linkage = string_attribute(function, DW_AT_linkage_name);
  if (linkage == nullptr) linkage = string_attribute(function, DW_AT_MIPS_linkage_name);
  const char* name = string_attribute(function, DW_AT_name);
  int line = 0;
  if (dwarf_decl_line(function, &line) == 0 && line > 0) {
    result.start_line = static_cast<std::uint32_t>(line);
  }
  const bool flat = is_flat_language(function);
  std::string linkage_name = linkage != nullptr ? linkage : flat && name != nullptr ? name : "";
  std::string readable = linkage_name;
  if (demangle_ && linkage != nullptr) readable = demangle(linkage_name);
  // DWARF's own name is better than one that stays mangled (overlong, an unknown scheme).
  if (name != nullptr && (readable.empty() || (demangle_ && is_mangled(readable)))) {
    readable = flat ? std::string(name) : qualified_name(function, name);
  }
  result.linkage_name = texts_->intern(linkage_name);
  result.name = texts_->intern(readable);
  return result;
}

const char* FunctionNames::string_attribute(Dwarf_Die* die, unsigned int name) const {
  Dwarf_Attribute attribute;
  return strings_->checked(dwarf_formstring(dwarf_attr_integrate(die, name, &attribute)));
}

std::string FunctionNames::scope_name(Dwarf_Die* scope) const {
  const char* name = strings_->checked(dwarf_diename(scope));
  if (name != nullptr && *name != '\0') return name;
  return dwarf_tag(scope) == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous class)";
}

std::string FunctionNames::qualified_name(Dwarf_Die* function, const char* name) {
  Dwarf_Die declaration = declaration_of(*function);
  std::string text = name;
  const UnitScopes& unit = scopes_of_unit(&declaration);
  const auto found = unit.scope_of.find(declaration.addr);
  std::int32_t scope = found == unit.scope_of.end() ? -1 : found->second;
  while (scope >= 0 && text.size() < kMaxNameBytes) {
    const Scope& enclosing = unit.scopes[static_cast<std::size_t>(scope)];
    text.insert(0, enclosing.name + "::");
    scope = enclosing.parent;
  }
  return text;
}

const FunctionNames::UnitScopes& FunctionNames::scopes_of_unit(Dwarf_Die* function) {
  const auto [entry, is_new] = units_.try_emplace(function->cu);
  Dwarf_Die unit;
  if (is_new && dwarf_diecu(function, &unit, nullptr, nullptr) != nullptr) {
    collect(&unit, -1, 0, &entry->second);
  }
  return entry->second;
}

// DIEs have no way up in DWARF, so the scopes of a unit are collected from the top, once.
void FunctionNames::collect(Dwarf_Die* parent, std::int32_t scope, int depth, UnitScopes* result) {
  Dwarf_Die child;
  if (depth > kMaxScopeDepth || dwarf_child(parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram && scope >= 0) {
      result->scope_of.emplace(child.addr, scope);
    } else if (is_scope(tag) && result->scopes.size() < kMaxScopes) {
      result->scopes.push_back({scope_name(&child), scope});
      collect(&child, static_cast<std::int32_t>(result->scopes.size()) - 1, depth + 1, result);
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace swipr::symbolize
