#include "symbolize/elf/symbol_entries.h"

#include <elf.h>

#include <algorithm>

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxSymbols = std::size_t{1} << 24;  // Chromium has about 1.5 million

// Of the table in `section`, at most `limit`. Returns their number.
std::size_t visit_section(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, std::size_t limit,
                          const SymbolVisitor& visit) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return 0;
  const int extended_index = elf_scnshndx(section);
  Elf_Data* extended =
      extended_index > 0
          ? elf_getdata(elf_getscn(elf, static_cast<std::size_t>(extended_index)), nullptr)
          : nullptr;
  const std::size_t entry_bytes = std::max<std::size_t>(header.sh_entsize, sizeof(Elf32_Sym));
  const std::size_t count = std::min(data->d_size / entry_bytes, limit);
  for (std::size_t index = 0; index < count; ++index) {
    GElf_Sym symbol;
    Elf32_Word far_section = 0;
    if (gelf_getsymshndx(data, extended, static_cast<int>(index), &symbol, &far_section) ==
        nullptr) {
      break;
    }
    visit(symbol, symbol.st_shndx == SHN_XINDEX ? far_section : symbol.st_shndx, header.sh_link);
  }
  return count;
}

}  // namespace

void visit_symbols(Elf* elf, std::uint32_t section_type, const SymbolVisitor& visit) {
  // Of all tables together: any number of sections may lie over the same bytes.
  std::size_t rest = kMaxSymbols;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != section_type) continue;
    rest -= visit_section(elf, section, header, rest, visit);
  }
}

std::vector<FunctionSymbol> list_functions(Elf* elf, std::uint32_t section_type) {
  std::vector<FunctionSymbol> functions;
  visit_symbols(elf, section_type,
                [&](const GElf_Sym& symbol, std::uint32_t section, std::size_t strings) {
                  const int type = GELF_ST_TYPE(symbol.st_info);
                  if (type != STT_FUNC && type != STT_GNU_IFUNC) return;
                  const char* text = elf_strptr(elf, strings, symbol.st_name);
                  if (text == nullptr || *text == '\0') return;
                  FunctionSymbol function{{symbol.st_value}, text};
                  function.name = function.name.substr(0, function.name.find('@', 1));
                  using Kind = FunctionSymbol::Kind;
                  if (section == SHN_UNDEF) {
                    function.begin = {};
                    function.kind = Kind::kImported;
                  } else if (type == STT_GNU_IFUNC) {
                    function.kind = Kind::kIndirect;
                  }
                  functions.push_back(function);
                });
  return functions;
}

}  // namespace swipr::symbolize
