#include "symbolize/elf/symbol_table.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <tuple>

#include "symbolize/elf/symbol_entries.h"

namespace swipr::symbolize {
namespace {

struct CodeSection {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // 0: not a section with code
};

// Half a million symbols are common. Lengths of names are computed only when needed, because
// each may cost a cache miss.
struct Candidate {
  const char* name;
  std::uint64_t begin;
  std::uint64_t size;
  std::uint32_t section;
  bool global;  // or weak: libc's write, read and the like are weak beside global __write, __read
};

std::vector<CodeSection> code_sections(Elf* elf) {
  std::vector<CodeSection> sections;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    sections.resize(elf_ndxscn(section) + 1);
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if ((header.sh_flags & SHF_ALLOC) == 0 || (header.sh_flags & SHF_EXECINSTR) == 0) continue;
    if (header.sh_addr + header.sh_size < header.sh_addr) continue;
    sections.back() = {header.sh_addr, header.sh_addr + header.sh_size};
  }
  return sections;
}

// $x, $d, $t, $a and $x.anything tell a disassembler where code and data begin (ELF for the Arm
// architectures, RISC-V psABI).
bool is_mapping_symbol(std::string_view name) {
  return name.size() >= 2 && name[0] == '$' &&
         std::string_view("xdta").find(name[1]) != std::string_view::npos &&
         (name.size() == 2 || name[2] == '.');
}

std::string_view without_version(std::string_view name) {
  const std::size_t at = name.find('@', 1);
  return at == std::string_view::npos ? name : name.substr(0, at);
}

std::size_t leading_underscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

// The last one in this order is preferred: a symbol with a size, the nearest start, the tightest
// end, then the better name: global, with few leading underscores, not libc's internal "__GI_",
// short (raise rather than gsignal, fopen rather than fopen64). The last member makes the choice
// independent of the order of the table.
bool is_worse(const Candidate& left, const Candidate& right) {
  const bool are_sized = left.size != 0 && right.size != 0;
  if (are_sized && left.begin != right.begin) return left.begin < right.begin;  // nearly always
  const auto place = [](const Candidate& symbol) {
    return std::tuple(symbol.size != 0, symbol.begin, ~symbol.size, symbol.global);
  };
  if (place(left) != place(right)) return place(left) < place(right);
  const auto beauty = [](const char* text) {
    const std::string_view name = without_version(text);
    return std::tuple(~leading_underscores(name), !name.starts_with("__GI_"), ~name.size(), name);
  };
  return beauty(left.name) < beauty(right.name);
}

class TableReader {
 public:
  TableReader(Elf* elf, SymbolTable::Kind kind)
      : elf_(elf), kind_(kind), sections_(code_sections(elf)) {}

  std::vector<Candidate> read() {
    visit_symbols(elf_, static_cast<std::uint32_t>(kind_),
                  [this](const GElf_Sym& symbol, std::uint32_t section, std::size_t strings) {
                    add(symbol, section, strings);
                  });
    return std::move(symbols_);
  }

  // Where a symbol without a size may reach at most.
  std::uint64_t section_end(const Candidate& symbol) const { return sections_[symbol.section].end; }

 private:
  void add(const GElf_Sym& symbol, std::uint32_t section, std::size_t strings) {
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return;
    if (section == SHN_UNDEF || section >= sections_.size()) return;
    const CodeSection& code = sections_[section];
    if (symbol.st_value < code.begin || symbol.st_value >= code.end) return;
    const char* text = elf_strptr(elf_, strings, symbol.st_name);
    if (text == nullptr || *text == '\0' || (*text == '$' && is_mapping_symbol(text))) return;
    symbols_.push_back({text, symbol.st_value, std::min(symbol.st_size, code.end - symbol.st_value),
                        section, GELF_ST_BIND(symbol.st_info) != STB_LOCAL});
  }

  Elf* elf_;
  SymbolTable::Kind kind_;
  std::vector<CodeSection> sections_;
  std::vector<Candidate> symbols_;
};

// The first start above `begin`, of any symbol.
std::uint64_t next_start(const std::vector<std::uint64_t>& starts, std::uint64_t begin) {
  const auto next = std::upper_bound(starts.begin(), starts.end(), begin);
  return next == starts.end() ? ~std::uint64_t{0} : *next;
}

}  // namespace

SymbolTable SymbolTable::read(Elf* elf, Kind kind) {
  TableReader reader(elf, kind);
  std::vector<Candidate> candidates = reader.read();
  std::sort(candidates.begin(), candidates.end(), is_worse);
  std::vector<std::uint64_t> starts;
  if (!candidates.empty() && candidates.front().size == 0) {  // those come first
    starts.reserve(candidates.size());
    for (const Candidate& candidate : candidates) starts.push_back(candidate.begin);
    std::sort(starts.begin(), starts.end());
  }

  SymbolTable table;
  std::vector<Interval> intervals;
  intervals.reserve(candidates.size());
  table.symbols_.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    const auto index = static_cast<std::uint32_t>(table.symbols_.size());
    const std::uint64_t end = candidate.size != 0 ? candidate.begin + candidate.size
                                                  : std::min(next_start(starts, candidate.begin),
                                                             reader.section_end(candidate));
    intervals.push_back({{candidate.begin}, {end}, index, index});
    table.symbols_.push_back({{candidate.begin}, candidate.name});
  }
  std::vector<Candidate>().swap(candidates);
  table.map_ = AddressMap(std::move(intervals));
  return table;
}

std::optional<Symbol> SymbolTable::find(ImageAddr address) const {
  const auto index = map_.find(address);
  if (!index) return std::nullopt;
  const auto& [begin, name] = symbols_[*index];
  return Symbol{begin, without_version(name)};
}

}  // namespace swipr::symbolize
