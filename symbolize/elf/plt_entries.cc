#include "symbolize/elf/plt_entries.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <unordered_map>

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxRelocations = std::size_t{1} << 20;
constexpr std::size_t kMaxStubBytes = 16;

using SlotNames = std::unordered_map<std::uint64_t, std::string>;

std::string name_of_symbol(Elf* elf, const GElf_Shdr& relocations, std::size_t index) {
  Elf_Scn* section = elf_getscn(elf, relocations.sh_link);
  GElf_Shdr header;
  GElf_Sym symbol;
  if (section == nullptr || gelf_getshdr(section, &header) == nullptr) return {};
  if (gelf_getsym(elf_getdata(section, nullptr), static_cast<int>(index), &symbol) == nullptr) {
    return {};
  }
  const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
  return name == nullptr ? std::string() : std::string(name);
}

void add_slots(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, SlotNames* slots) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::size_t count = std::min(data->d_size / header.sh_entsize, kMaxRelocations);
  for (std::size_t index = 0; index < count; ++index) {
    GElf_Rela relocation;
    if (gelf_getrela(data, static_cast<int>(index), &relocation) == nullptr) return;
    const auto type = GELF_R_TYPE(relocation.r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    std::string name = name_of_symbol(elf, header, GELF_R_SYM(relocation.r_info));
    if (!name.empty()) slots->emplace(relocation.r_offset, std::move(name));
  }
}

// The slot that the stub at `address` jumps through: [endbr64] [bnd] jmp *disp32(%rip).
std::optional<std::uint64_t> slot_of_stub(std::span<const unsigned char> stub,
                                          std::uint64_t address) {
  static constexpr std::array<unsigned char, 4> kEndbr64 = {0xF3, 0x0F, 0x1E, 0xFA};
  std::size_t at = 0;
  if (stub.size() >= 4 && std::equal(kEndbr64.begin(), kEndbr64.end(), stub.begin())) at += 4;
  if (at < stub.size() && stub[at] == 0xF2) ++at;
  if (stub.size() < at + 6 || stub[at] != 0xFF || stub[at + 1] != 0x25) return std::nullopt;
  std::int32_t displacement = 0;
  std::memcpy(&displacement, stub.data() + at + 2, sizeof displacement);
  return address + at + 6 + static_cast<std::uint64_t>(std::int64_t{displacement});
}

bool is_plt(std::string_view name) {
  return name == ".plt" || name == ".plt.sec" || name == ".plt.got";
}

}  // namespace

PltEntries PltEntries::read(Elf* elf) {
  PltEntries result;
  GElf_Ehdr file;
  std::size_t names = 0;
  if (gelf_getehdr(elf, &file) == nullptr || file.e_machine != EM_X86_64) return result;
  if (elf_getshdrstrndx(elf, &names) != 0) return result;
  SlotNames slots;
  std::vector<std::pair<Elf_Scn*, GElf_Shdr>> tables;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (header.sh_type == SHT_RELA) add_slots(elf, section, header, &slots);
    if (header.sh_type == SHT_PROGBITS && name != nullptr && is_plt(name)) {
      tables.emplace_back(section, header);
    }
  }
  std::vector<Interval> intervals;
  for (const auto& [table, header] : tables) {
    const Elf_Data* data = elf_rawdata(table, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    const std::span bytes(static_cast<const unsigned char*>(data->d_buf), data->d_size);
    const std::size_t stub_bytes = header.sh_entsize == 8 ? 8 : kMaxStubBytes;
    for (std::size_t at = 0; at + stub_bytes <= bytes.size(); at += stub_bytes) {
      const std::uint64_t address = header.sh_addr + at;
      const auto slot = slot_of_stub(bytes.subspan(at, stub_bytes), address);
      const auto found = slot ? slots.find(*slot) : slots.end();
      if (found == slots.end()) continue;
      const auto index = static_cast<std::uint32_t>(result.entries_.size());
      intervals.push_back({{address}, {address + stub_bytes}, 0, index});
      result.entries_.push_back({{address}, found->second});
    }
  }
  result.map_ = AddressMap(std::move(intervals));
  return result;
}

std::optional<PltEntry> PltEntries::find(ImageAddr address) const {
  const auto index = map_.find(address);
  if (!index) return std::nullopt;
  return entries_[*index];
}

}  // namespace swipr::symbolize
