#include "symbolize/elf/variable_table.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "symbolize/elf/symbol_entries.h"

namespace swipr::symbolize {

namespace {

bool is_data(Elf* elf, std::uint32_t section) {
  GElf_Shdr header;
  Elf_Scn* const found = elf_getscn(elf, section);
  if (found == nullptr || gelf_getshdr(found, &header) == nullptr) return false;
  constexpr std::uint64_t kWanted = SHF_ALLOC | SHF_WRITE;
  return (header.sh_flags & (kWanted | SHF_TLS)) == kWanted;
}

}  // namespace

VariableTable::VariableTable(Elf* elf, SymbolTable::Kind kind) {
  std::vector<Interval> intervals;
  visit_symbols(elf, static_cast<std::uint32_t>(kind),
                [&](const GElf_Sym& symbol, std::uint32_t section, std::size_t strings) {
                  if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0) return;
                  const std::uint64_t end = symbol.st_value + symbol.st_size;
                  if (section == SHN_UNDEF || end < symbol.st_value || !is_data(elf, section)) {
                    return;
                  }
                  const char* const text = elf_strptr(elf, strings, symbol.st_name);
                  if (text == nullptr || *text == '\0') return;
                  const std::string_view name = text;
                  intervals.push_back({{symbol.st_value},
                                       {end},
                                       ~symbol.st_size,
                                       static_cast<std::uint32_t>(symbols_.size())});
                  symbols_.push_back({{symbol.st_value}, name.substr(0, name.find('@', 1))});
                });
  map_ = AddressMap(std::move(intervals));
}

std::optional<Symbol> VariableTable::find(ImageAddr address) const {
  const auto index = map_.find(address);
  return index ? std::optional(symbols_[*index]) : std::nullopt;
}

}  // namespace swipr::symbolize
