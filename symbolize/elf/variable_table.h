// Static variables of .symtab or .dynsym by address.
#pragma once

#include <libelf.h>

#include <optional>
#include <vector>

#include "symbolize/elf/address_map.h"
#include "symbolize/elf/symbol_table.h"

namespace swipr::symbolize {

class VariableTable {
 public:
  VariableTable() = default;
  // Objects with a size in sections that the program can write; of several at one place the
  // smallest, and of equal ones the last. Lifetime: names point into `elf`.
  VariableTable(Elf* elf, SymbolTable::Kind kind);

  std::optional<Symbol> find(ImageAddr address) const;
  bool empty() const { return symbols_.empty(); }

 private:
  std::vector<Symbol> symbols_;
  AddressMap map_;
};

}  // namespace swipr::symbolize
