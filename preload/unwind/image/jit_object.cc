#include "preload/unwind/image/jit_object.h"

#include <cstring>

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/code_hash.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kMaxSectionBytes = 16 << 20;

bool is_supported(const Elf64_Ehdr& header) noexcept {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_machine == kElfMachine && header.e_shentsize == sizeof(Elf64_Shdr) &&
         header.e_shnum != 0;
}

template <typename T>
bool read_all(ImageReader reader, std::uint64_t address, GrowableArray<T>& out) noexcept {
  return reader.read(reader.state, address, std::as_writable_bytes(out.span()));
}

}  // namespace

bool JitObject::open(Range<std::uint64_t> object, ImageReader reader) noexcept {
  object_ = object;
  fingerprint_ = 0;
  sections_.truncate(0);
  section_names_.truncate(0);
  symbols_.truncate(0);
  names_.truncate(0);
  const auto header = std::as_writable_bytes(std::span<Elf64_Ehdr, 1>(&header_, 1));
  const bool has_header = object.begin < object.end && object.end - object.begin >= header.size() &&
                          reader.read(reader.state, object.begin, header);
  return has_header && is_supported(header_) && read_sections(reader) && read_symbols(reader);
}

bool JitObject::read_sections(ImageReader reader) noexcept {
  const std::uint64_t bytes = header_.e_shnum * sizeof(Elf64_Shdr);
  const std::uint64_t size = object_.end - object_.begin;
  if (header_.e_shoff > size || bytes > size - header_.e_shoff) return false;
  if (!sections_.resize(header_.e_shnum)) return false;
  if (!read_all(reader, object_.begin + header_.e_shoff, sections_)) return false;
  fingerprint_ = hash_bytes(std::as_bytes(sections_.span()), fingerprint_);
  return header_.e_shstrndx >= sections_.size() ||
         copy(sections_[header_.e_shstrndx], reader, section_names_);
}

bool JitObject::read_symbols(ImageReader reader) noexcept {
  for (const Elf64_Shdr& section : sections_.span()) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections_.size()) continue;
    if (!copy(section, reader, symbols_) || !copy(sections_[section.sh_link], reader, names_)) {
      return false;
    }
    fingerprint_ = hash_bytes(std::as_bytes(symbols_.span()), fingerprint_);
    fingerprint_ = hash_bytes(std::as_bytes(names_.span()), fingerprint_);
    break;
  }
  return true;
}

template <typename T>
bool JitObject::copy(const Elf64_Shdr& section, ImageReader reader,
                     GrowableArray<T>& out) const noexcept {
  const std::uint64_t size = object_.end - object_.begin;
  const bool is_inside = section.sh_type != SHT_NOBITS && section.sh_size <= kMaxSectionBytes &&
                         section.sh_offset <= size && section.sh_size <= size - section.sh_offset;
  return is_inside && out.resize(section.sh_size / sizeof(T)) &&
         read_all(reader, object_.begin + section.sh_offset, out);
}

CfiSource JitObject::find_cfi() const noexcept {
  const Elf64_Shdr* section = find_section(".eh_frame");
  const CfiFormat format = section != nullptr ? CfiFormat::kEhFrame : CfiFormat::kDebugFrame;
  if (section == nullptr) section = find_section(".debug_frame");
  if (section == nullptr) return {};
  const bool is_loaded = header_.e_type == ET_REL && section->sh_addr != 0;
  const std::uint64_t size = object_.end - object_.begin;
  const bool is_inside = section->sh_type != SHT_NOBITS && section->sh_offset <= size &&
                         section->sh_size <= size - section->sh_offset;
  if (!is_loaded && !is_inside) return {};
  return {.at = is_loaded ? section->sh_addr : object_.begin + section->sh_offset,
          .bytes = section->sh_size,
          .address = section->sh_addr,
          .format = format};
}

const Elf64_Shdr* JitObject::find_section(std::string_view name) const noexcept {
  for (const Elf64_Shdr& section : sections_.span()) {
    if (section.sh_size != 0 && text(section_names_, section.sh_name) == name) return &section;
  }
  return nullptr;
}

// 0: it is in no loaded section.
std::uint64_t JitObject::address_of(const Elf64_Sym& symbol) const noexcept {
  if (header_.e_type != ET_REL) return symbol.st_value;
  if (symbol.st_shndx >= sections_.size()) return 0;
  const std::uint64_t section = sections_[symbol.st_shndx].sh_addr;
  return section == 0 ? 0 : section + symbol.st_value;
}

std::string_view JitObject::text(const GrowableArray<char>& all, std::uint64_t at) noexcept {
  if (at >= all.size()) return {};
  const char* const begin = &all[at];
  const std::size_t most = all.size() - at;
  const auto* const end = static_cast<const char*>(std::memchr(begin, '\0', most));
  return end == nullptr ? std::string_view() : std::string_view(begin, end);
}

}  // namespace swipr::unwind
