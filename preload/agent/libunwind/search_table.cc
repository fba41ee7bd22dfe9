#include "preload/agent/libunwind/search_table.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace swipr::agent::libunwind {

namespace {

constexpr unsigned kMaxProgramHeaders = 256;

// As all linkers write it: offsets of 4 bytes, the entries' relative to the header.
struct [[gnu::packed]] Header {
  std::uint8_t version;
  std::uint8_t pointer_encoding;
  std::uint8_t count_encoding;
  std::uint8_t entry_encoding;
  std::int32_t eh_frame;
  std::uint32_t entry_count;
};
constexpr std::uint8_t kRelativeToField = 0x1b;   // DW_EH_PE_pcrel | DW_EH_PE_sdata4
constexpr std::uint8_t kUnsigned4 = 0x03;         // DW_EH_PE_udata4
constexpr std::uint8_t kRelativeToHeader = 0x3b;  // DW_EH_PE_datarel | DW_EH_PE_sdata4

bool read_header(std::uint64_t address, unwind::ImageReader reader, SearchTable& out) noexcept {
  Header header;
  if (!reader.read_value(address, header) || header.version != 1 ||
      header.pointer_encoding != kRelativeToField || header.count_encoding != kUnsigned4 ||
      header.entry_encoding != kRelativeToHeader) {
    return false;
  }
  out.header = address;
  out.entries = address + sizeof header;
  out.entry_count = header.entry_count;
  return out.entry_count != 0 && out.image.contains(out.entries) &&
         out.entry_count <= (out.image.end - out.entries) / kSearchEntryBytes;
}

}  // namespace

bool find_search_table(std::uint64_t elf_header, unwind::ImageReader reader,
                       SearchTable& out) noexcept {
  Elf64_Ehdr elf;
  if (!reader.read_value(elf_header, elf) || std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum > kMaxProgramHeaders) {
    return false;
  }
  std::uint64_t load_bias = 0;
  std::uint64_t table = 0;
  bool has_bias = false;
  bool has_table = false;
  for (unsigned number = 0; number < elf.e_phnum; ++number) {
    Elf64_Phdr segment;
    const std::uint64_t place = elf_header + elf.e_phoff + number * sizeof segment;
    if (!reader.read_value(place, segment)) return false;
    if (segment.p_type == PT_LOAD) {
      if (!has_bias) load_bias = elf_header - (segment.p_vaddr - segment.p_offset);
      const std::uint64_t start = load_bias + segment.p_vaddr;
      if (!has_bias) out.image = {start, start};
      has_bias = true;
      out.image.end = std::max(out.image.end, start + segment.p_memsz);
    } else if (segment.p_type == PT_GNU_EH_FRAME) {
      table = segment.p_vaddr;
      has_table = true;
    }
  }
  return has_bias && has_table && read_header(load_bias + table, reader, out);
}

}  // namespace swipr::agent::libunwind
