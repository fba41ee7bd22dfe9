// Compressed debug sections. libdw would expand them itself, but it writes that into the section
// headers, which all handles on the same bytes share, and it would do it once per handle.
#include <elf.h>
#include <gelf.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "symbolize/elf/elf_file.h"

namespace swipr::symbolize {
namespace {

// DWARF shrinks to a third or less; more than this is not DWARF.
constexpr std::uint64_t kMaxExpansion = 64;
constexpr std::uint64_t kMinExpandedLimit = std::uint64_t{16} << 20;
constexpr std::uint64_t kAlignment = 16;
constexpr std::uint32_t kZstd = 2;           // ELFCOMPRESS_ZSTD, which older <elf.h> lack
constexpr std::size_t kOldHeaderBytes = 12;  // "ZLIB" and the size, big-endian

struct Compressed {
  std::size_t index;
  bool old_style;  // .zdebug_… of binutils before 2.26
  bool zstd;
  std::uint64_t size;  // expanded
};

std::optional<Compressed> compression_of(Elf_Scn* section, const GElf_Shdr& header,
                                         std::string_view name) {
  if ((header.sh_flags & SHF_COMPRESSED) != 0) {
    GElf_Chdr compression;
    if (gelf_getchdr(section, &compression) == nullptr) return std::nullopt;
    return Compressed{elf_ndxscn(section), false, compression.ch_type == kZstd,
                      compression.ch_size};
  }
  const Elf_Data* data = name.starts_with(".z") ? elf_rawdata(section, nullptr) : nullptr;
  if (data == nullptr || data->d_buf == nullptr || data->d_size < kOldHeaderBytes) return {};
  const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
  if (std::memcmp(bytes, "ZLIB", 4) != 0) return std::nullopt;
  std::uint64_t size = 0;
  for (std::size_t at = 4; at < kOldHeaderBytes; ++at) size = size << 8 | bytes[at];
  return Compressed{elf_ndxscn(section), true, false, size};
}

// Written to `target`: here, because libelf knows zstd from elfutils 0.189 on only.
bool expand_zstd(Elf_Scn* section, std::uint64_t size, char* target) {
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr || data->d_size < sizeof(Elf64_Chdr)) return false;
  const char* frame = static_cast<const char*>(data->d_buf) + sizeof(Elf64_Chdr);
  return ZSTD_decompress(target, size, frame, data->d_size - sizeof(Elf64_Chdr)) == size;
}

bool expand_zlib(Elf_Scn* section, const Compressed& compressed, char* target) {
  const int done =
      compressed.old_style ? elf_compress_gnu(section, 0, 0) : elf_compress(section, 0, 0);
  const Elf_Data* data = done < 0 ? nullptr : elf_getdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr || data->d_size != compressed.size) return false;
  std::memcpy(target, data->d_buf, compressed.size);
  return true;
}

// Writes the expanded section to `target`.
bool expand(std::span<char> image, const Compressed& section, char* target) {
  Elf* elf = elf_memory(image.data(), image.size());
  if (elf == nullptr) return false;
  Elf_Scn* found = elf_getscn(elf, section.index);
  const bool is_whole =
      section.zstd ? expand_zstd(found, section.size, target) : expand_zlib(found, section, target);
  elf_end(elf);
  return is_whole;
}

std::uint64_t aligned(std::uint64_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); }

// ".zdebug_info" is the name of a compressed section; ".debug_info" is its end, but for a dot.
void rename_old_section(std::span<char> image, const Elf64_Ehdr& file, Elf64_Shdr* header) {
  const std::uint64_t names_at = file.e_shoff + file.e_shstrndx * sizeof(Elf64_Shdr);
  if (names_at > image.size() || image.size() - names_at < sizeof(Elf64_Shdr)) return;
  Elf64_Shdr names{};
  std::memcpy(&names, image.data() + names_at, sizeof names);
  const std::uint64_t at = names.sh_offset + header->sh_name;
  if (at < names.sh_offset || at > image.size() || image.size() - at < 2) return;
  image[at + 1] = '.';
  header->sh_name += 1;
}

void point_to_expanded(std::span<char> image, const Elf64_Ehdr& file, const Compressed& section,
                       std::uint64_t offset, std::uint64_t size) {
  const std::uint64_t at = file.e_shoff + section.index * sizeof(Elf64_Shdr);
  if (at > image.size() || image.size() - at < sizeof(Elf64_Shdr)) return;
  Elf64_Shdr header{};
  std::memcpy(&header, image.data() + at, sizeof header);
  header.sh_flags &= ~std::uint64_t{SHF_COMPRESSED};
  header.sh_offset = offset;
  header.sh_size = size;
  header.sh_addralign = kAlignment;
  if (section.old_style) rename_old_section(image, file, &header);
  std::memcpy(image.data() + at, &header, sizeof header);
}

// None: more than DWARF can become.
std::optional<std::vector<Compressed>> find_compressed(Elf* elf,
                                                       bool (*wanted)(std::string_view name)) {
  std::vector<Compressed> sections;
  std::uint64_t compressed = 0;
  std::uint64_t expanded = 0;
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return sections;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr || !wanted(name)) continue;
    const auto found = compression_of(section, header, name);
    const Elf_Data* data = found ? elf_rawdata(section, nullptr) : nullptr;
    if (data == nullptr) continue;
    compressed += data->d_size;
    const std::uint64_t limit = std::max(compressed * kMaxExpansion, kMinExpandedLimit);
    if (found->size > limit || (expanded += found->size) > limit) return std::nullopt;
    sections.push_back(*found);
  }
  return sections;
}

}  // namespace

host::Result<void> ElfFile::expand_debug_sections() {
  Elf64_Ehdr file{};
  if (bytes_->bytes().size() < sizeof file) return {};
  std::memcpy(&file, bytes_->bytes().data(), sizeof file);
  if (file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_ident[EI_DATA] != ELFDATA2LSB) return {};
  const auto sections = find_compressed(elf_.get(), &is_debug_section);
  if (!sections) return host::Error("compressed sections would become too large");
  if (sections->empty()) return {};
  std::uint64_t end = aligned(bytes_->bytes().size());
  std::uint64_t more = end - bytes_->bytes().size();
  for (const Compressed& section : *sections) more += aligned(section.size);
  elf_.reset();
  const bool has_grown = bytes_->grow(more);
  if (has_grown) {
    const std::span<char> image = bytes_->bytes();
    for (const Compressed& section : *sections) {
      const bool is_whole = expand(image, section, image.data() + end);
      point_to_expanded(image, file, section, end, is_whole ? section.size : 0);
      end += aligned(section.size);
    }
  }
  elf_.reset(elf_memory(bytes_->bytes().data(), bytes_->bytes().size()));
  if (!has_grown) return host::Error("no memory for compressed sections");
  return {};
}

}  // namespace swipr::symbolize
