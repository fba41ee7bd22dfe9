#include "preload/unwind/image/tls_offset.h"

#include <elf.h>

#include <algorithm>
#include <array>

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::unwind {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kThreadOffset = R_X86_64_TPOFF64;
constexpr std::uint32_t kDescriptor = R_X86_64_TLSDESC;
constexpr std::uint32_t kModule = R_X86_64_DTPMOD64;
// Variables lie below the thread pointer, those of the program next to it.
constexpr std::int64_t kLowest = -(std::int64_t{1} << 24), kHighest = -1;
std::int64_t offset_in_program(std::uint64_t value, std::uint64_t bytes,
                               std::uint64_t alignment) noexcept {
  const std::uint64_t whole = (bytes + alignment - 1) / alignment * alignment;
  return static_cast<std::int64_t>(value - whole);
}
#else
constexpr std::uint32_t kThreadOffset = R_AARCH64_TLS_TPREL;
constexpr std::uint32_t kDescriptor = R_AARCH64_TLSDESC;
constexpr std::uint32_t kModule = R_AARCH64_TLS_DTPMOD;
// Variables lie above the thread pointer, behind two words.
constexpr std::int64_t kLowest = 16, kHighest = std::int64_t{1} << 24;
std::int64_t offset_in_program(std::uint64_t value, std::uint64_t,
                               std::uint64_t alignment) noexcept {
  return static_cast<std::int64_t>(value + std::max<std::uint64_t>(alignment, 16));
}
#endif

// An argument of a descriptor that is not static, or not resolved yet, is a pointer.
bool is_static(std::int64_t offset) noexcept { return offset >= kLowest && offset <= kHighest; }

struct Tables {
  Range<std::uint64_t> relocations[2];
  std::uint64_t symbols = 0;
};

Tables tables_of(const TlsImage& image, ImageReader reader) noexcept {
  std::array<Elf64_Dyn, 64> entries{};  // real images have about thirty
  const std::uint64_t bytes =
      std::min<std::uint64_t>(image.dynamic.end - image.dynamic.begin, sizeof entries);
  Tables tables;
  const auto all = std::as_writable_bytes(std::span(entries)).first(bytes);
  if (!reader.read(reader.state, image.dynamic.begin, all)) return tables;
  const auto value_of = [&entries](std::int64_t tag) noexcept {
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == tag) return entry.d_un.d_val;
      if (entry.d_tag == DT_NULL) break;
    }
    return std::uint64_t{0};
  };
  // The loader has added the load bias; musl's has not.
  const auto address_of = [&image](std::uint64_t value) noexcept {
    return value < image.load_bias ? value + image.load_bias : value;
  };
  const std::uint64_t first = address_of(value_of(DT_RELA));
  const std::uint64_t second = address_of(value_of(DT_JMPREL));
  tables.relocations[0] = {first, first + value_of(DT_RELASZ)};
  tables.relocations[1] = {second, second + value_of(DT_PLTRELSZ)};
  tables.symbols = address_of(value_of(DT_SYMTAB));
  return tables;
}

// From the calling thread's vector of blocks, for code of the older model. A block that is not in
// static TLS is allocated when its thread uses it first, and the control thread does not use it.
// Source: glibc, sysdeps/generic/dl-dtv.h: pairs of words, the number of pairs in the one before
// the first. Other libcs have other vectors, whose words are not static offsets.
std::int64_t offset_of_module(std::uint64_t module, std::uint64_t value,
                              ImageReader reader) noexcept {
  constexpr std::uint64_t kPair = 16;
  const auto pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  std::uint64_t vector = 0;
  std::uint64_t count = 0;
  std::uint64_t block = 0;
  if (!reader.read_value(pointer + kTlsVectorAt, vector) ||
      !reader.read_value(vector - kPair, count) || module == 0 || module > count ||
      !reader.read_value(vector + module * kPair, block)) {
    return 0;
  }
  return static_cast<std::int64_t>(block + value - pointer);
}

// 0: the relocation is of another variable, or has no static result.
std::int64_t result_of(const Elf64_Rela& relocation, const TlsImage& image, const Tables& tables,
                       std::uint64_t value, ImageReader reader) noexcept {
  const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocation.r_info));
  if (type != kThreadOffset && type != kDescriptor && type != kModule) return 0;
  const std::uint64_t number = ELF64_R_SYM(relocation.r_info);
  std::uint64_t target = static_cast<std::uint64_t>(relocation.r_addend);
  if (number != 0) {
    Elf64_Sym symbol{};
    if (!reader.read_value(tables.symbols + number * sizeof symbol, symbol)) return 0;
    if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == SHN_UNDEF) return 0;
    target += symbol.st_value;
  }
  const std::uint64_t word = image.load_bias + relocation.r_offset + (type == kDescriptor ? 8 : 0);
  std::int64_t offset = 0;
  if (target != value || !reader.read_value(word, offset)) return 0;
  if (type == kModule) offset = offset_of_module(static_cast<std::uint64_t>(offset), value, reader);
  return is_static(offset) ? offset : 0;
}

std::int64_t find_in_relocations(const TlsImage& image, std::uint64_t value,
                                 ImageReader reader) noexcept {
  constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 20;
  const Tables tables = tables_of(image, reader);
  std::array<Elf64_Rela, 64> piece;
  for (const Range<std::uint64_t>& table : tables.relocations) {
    if (table.end - table.begin > kMostBytes) continue;
    const std::uint64_t count = (table.end - table.begin) / sizeof(Elf64_Rela);
    for (std::uint64_t at = 0; at < count; at += piece.size()) {
      const auto part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), count - at));
      const std::uint64_t address = table.begin + at * sizeof(Elf64_Rela);
      if (!reader.read(reader.state, address, std::as_writable_bytes(part))) break;
      for (const Elf64_Rela& relocation : part) {
        const std::int64_t found = result_of(relocation, image, tables, value, reader);
        if (found != 0) return found;
      }
    }
  }
  return 0;
}

// Code of the program itself needs no relocation.
std::int64_t find_in_program(const TlsImage& image, std::uint64_t value,
                             ImageReader reader) noexcept {
  constexpr std::uint16_t kMostSegments = 64;
  Elf64_Ehdr header{};
  if (!reader.read_value(image.header, header)) return 0;
  for (std::uint16_t at = 0; at < std::min(header.e_phnum, kMostSegments); ++at) {
    Elf64_Phdr segment{};
    if (!reader.read_value(image.header + header.e_phoff + at * sizeof segment, segment)) return 0;
    if (segment.p_type != PT_TLS || value >= segment.p_memsz) continue;
    const std::uint64_t alignment = std::max<std::uint64_t>(segment.p_align, 1);
    const std::int64_t offset = offset_in_program(value, segment.p_memsz, alignment);
    return is_static(offset) ? offset : 0;
  }
  return 0;
}

}  // namespace

TlsOffset find_tls_offset(const TlsImage& image, std::string_view name,
                          ImageReader reader) noexcept {
  const Range<std::uint64_t> symbol =
      find_exported_range(image.dynamic, image.load_bias, name, reader);
  if (symbol.end == 0) return {};
  const std::uint64_t value = symbol.begin - image.load_bias;
  return {true, image.is_program ? find_in_program(image, value, reader)
                                 : find_in_relocations(image, value, reader)};
}

}  // namespace swipr::unwind
