// The entries of .symtab or .dynsym, in their order, and the functions among them.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "common/core/addresses.h"

namespace swipr::symbolize {

// `section` is the one in which the symbol is defined, `strings` that of its name.
using SymbolVisitor =
    std::function<void(const GElf_Sym& symbol, std::uint32_t section, std::size_t strings)>;

// `section_type`: SHT_SYMTAB, SHT_DYNSYM.  Bounds: 16 million symbols.
void visit_symbols(Elf* elf, std::uint32_t section_type, const SymbolVisitor& visit);

struct FunctionSymbol {
  // Indirect ones (IFUNC) are called once, to choose the function that is called afterwards.
  enum class Kind : std::uint8_t { kDefined, kIndirect, kImported };

  ImageAddr begin;        // 0: imported
  std::string_view name;  // as in the string table, without a symbol version
  Kind kind = Kind::kDefined;
};

// Lifetime: names point into `elf`.
std::vector<FunctionSymbol> list_functions(Elf* elf, std::uint32_t section_type);

}  // namespace swipr::symbolize
