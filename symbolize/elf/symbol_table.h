// Functions of .symtab or .dynsym by address.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/elf/address_map.h"

namespace swipr::symbolize {

struct Symbol {
  ImageAddr begin;
  std::string_view name;  // as in the string table, without a symbol version
};

class SymbolTable {
 public:
  enum class Kind { kStatic = 2, kDynamic = 11 };  // SHT_SYMTAB, SHT_DYNSYM

  // Sized functions cover their bytes; those without a size reach to the next symbol of their
  // section, where no sized one covers. Of several at one place a global one is preferred, then one
  // without leading underscores, then the
  // shortest. Data, TLS, sections and mapping symbols are left
  // out. Lifetime: names point into `elf`.
  static SymbolTable read(Elf* elf, Kind kind);

  std::optional<Symbol> find(ImageAddr address) const;
  bool empty() const { return symbols_.empty(); }

 private:
  struct Entry {
    ImageAddr begin;
    const char* name;  // with its version
  };
  std::vector<Entry> symbols_;
  AddressMap map_;
};

}  // namespace swipr::symbolize
