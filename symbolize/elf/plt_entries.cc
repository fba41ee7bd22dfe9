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

using Stub = std::span<const unsigned char>;
using Slot = std::optional<std::uint64_t>;  // its address

// [endbr64] [bnd] jmp *disp32(%rip).
Slot slot_of_x86_64(Stub stub, std::uint64_t address) {
  static constexpr std::array<unsigned char, 4> kEndbr64 = {0xF3, 0x0F, 0x1E, 0xFA};
  std::size_t at = 0;
  if (stub.size() >= 4 && std::equal(kEndbr64.begin(), kEndbr64.end(), stub.begin())) at += 4;
  if (at < stub.size() && stub[at] == 0xF2) ++at;
  if (stub.size() < at + 6 || stub[at] != 0xFF || stub[at + 1] != 0x25) return std::nullopt;
  std::int32_t displacement = 0;
  std::memcpy(&displacement, stub.data() + at + 2, sizeof displacement);
  return address + at + 6 + static_cast<std::uint64_t>(std::int64_t{displacement});
}

// [bti c]; adrp x16, page; ldr x17, [x16, #offset].  Source: Arm ARM, C6.2.
Slot slot_of_aarch64(Stub stub, std::uint64_t address) {
  constexpr std::uint32_t kBtiC = 0xD503245F;
  constexpr std::uint64_t kAdrpPageBytes = 4096;
  std::array<std::uint32_t, 3> code{};
  if (stub.size() < sizeof code) return std::nullopt;
  std::memcpy(code.data(), stub.data(), sizeof code);
  const std::size_t at = code[0] == kBtiC ? 1 : 0;
  const std::uint32_t adrp = code[at];
  const std::uint32_t ldr = code[at + 1];
  if ((adrp & 0x9F00001F) != 0x90000010 || (ldr & 0xFFC003FF) != 0xF9400211) return std::nullopt;
  // The upper 19 of 21 bits are bits 5 to 23, the lower two 29 and 30.
  const std::int64_t pages =
      std::int64_t{static_cast<std::int32_t>(adrp << 8) >> 13} * 4 + (adrp >> 29 & 3);
  const std::uint64_t page = (address + at * sizeof adrp) & ~(kAdrpPageBytes - 1);
  return page + static_cast<std::uint64_t>(pages) * kAdrpPageBytes + (ldr >> 10 & 0xFFF) * 8;
}

struct Machine {
  std::array<std::uint64_t, 2> slot_relocations;
  Slot (*slot_of)(Stub stub, std::uint64_t address);
  std::size_t alignment;  // of stubs; 0: their size
};

const Machine* find_machine(std::uint16_t elf_machine) {
  static constexpr Machine kX86 = {{R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT}, &slot_of_x86_64, 0};
  static constexpr Machine kAarch64 = {
      {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT}, &slot_of_aarch64, 4};
  if (elf_machine == EM_X86_64) return &kX86;
  return elf_machine == EM_AARCH64 ? &kAarch64 : nullptr;
}

void add_slots(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, const Machine& machine,
               SlotNames* slots) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::size_t count = std::min(data->d_size / header.sh_entsize, kMaxRelocations);
  for (std::size_t index = 0; index < count; ++index) {
    GElf_Rela relocation;
    if (gelf_getrela(data, static_cast<int>(index), &relocation) == nullptr) return;
    const auto& wanted = machine.slot_relocations;
    if (std::ranges::find(wanted, GELF_R_TYPE(relocation.r_info)) == wanted.end()) continue;
    std::string name = name_of_symbol(elf, header, GELF_R_SYM(relocation.r_info));
    if (!name.empty()) slots->emplace(relocation.r_offset, std::move(name));
  }
}

bool is_plt(std::string_view name) {
  return name == ".plt" || name == ".plt.sec" || name == ".plt.got";
}

}  // namespace

PltEntries PltEntries::read(Elf* elf) {
  PltEntries result;
  GElf_Ehdr file;
  std::size_t names = 0;
  if (gelf_getehdr(elf, &file) == nullptr || elf_getshdrstrndx(elf, &names) != 0) return result;
  const Machine* machine = find_machine(file.e_machine);
  if (machine == nullptr) return result;
  SlotNames slots;
  std::vector<std::pair<Elf_Scn*, GElf_Shdr>> tables;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (header.sh_type == SHT_RELA) add_slots(elf, section, header, *machine, &slots);
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
    const std::size_t step = machine->alignment == 0 ? stub_bytes : machine->alignment;
    for (std::size_t at = 0; at + stub_bytes <= bytes.size(); at += step) {
      const std::uint64_t address = header.sh_addr + at;
      const Slot slot = machine->slot_of(bytes.subspan(at, stub_bytes), address);
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
