#include "symbolize/elf/elf_file.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/host/text/hex.h"

namespace swipr::symbolize {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::size_t kMaxSegments = 4096;
constexpr std::size_t kMaxVdsoBytes = std::size_t{1} << 20;  // two to five pages on real kernels

std::string elf_problem() { return elf_errmsg(-1); }

}  // namespace

host::Result<ElfFile> ElfFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe that has no writer must not wait.
  host::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return host::system_error(path, errno);
  auto file = from_descriptor(std::move(fd));
  if (!file) return file.error().with_context(path);
  file->origin_ = path;
  return file;
}

host::Result<ElfFile> ElfFile::from_descriptor(host::UniqueFd fd) {
  struct stat status {};
  if (::fstat(fd.value(), &status) != 0) return host::system_error("fstat", errno);
  if (!S_ISREG(status.st_mode)) return host::Error("not a regular file");
  auto bytes = FileBytes::open(std::move(fd), static_cast<std::size_t>(status.st_size));
  if (!bytes) return bytes.error();
  ElfFile file;
  file.identity_ = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  file.bytes_ = *std::move(bytes);
  file.load_headers();
  if (auto loaded = file.load(); !loaded) return loaded.error();
  return file;
}

host::Result<ElfFile> ElfFile::from_memory(std::vector<char> bytes) {
  ElfFile file;
  file.bytes_ = FileBytes::from_memory(std::move(bytes));
  if (auto loaded = file.load(); !loaded) return loaded.error();
  return file;
}

host::Result<ElfFile> ElfFile::share() const {
  ElfFile file;
  file.bytes_ = bytes_;
  file.identity_ = identity_;
  file.origin_ = origin_;
  if (auto loaded = file.load(); !loaded) return loaded.error();
  return file;
}

// Where the header says that tables are. libelf checks it all again.
void ElfFile::load_headers() {
  bytes_->load(0, kPageBytes);
  const std::span<char> bytes = bytes_->bytes();
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof header || bytes[EI_CLASS] == ELFCLASS32) {
    return bytes_->load(0, bytes.size());  // 32-bit programs are small
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes_->load(header.e_phoff, std::uint64_t{header.e_phnum} * header.e_phentsize);
  Elf64_Shdr first{};  // says how many there are when the header has no room for it
  bytes_->load(header.e_shoff, sizeof first);
  if (header.e_shoff < bytes.size() && bytes.size() - header.e_shoff >= sizeof first) {
    std::memcpy(&first, bytes.data() + header.e_shoff, sizeof first);
  }
  const std::uint64_t sections = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  bytes_->load(header.e_shoff, std::min<std::uint64_t>(sections, bytes.size()) * sizeof first);
  for (std::size_t index = 0; index < header.e_phnum; ++index) {
    Elf64_Phdr segment{};
    const std::uint64_t at = header.e_phoff + index * sizeof segment;
    if (at >= bytes.size() || bytes.size() - at < sizeof segment) break;
    std::memcpy(&segment, bytes.data() + at, sizeof segment);
    if (segment.p_type == PT_NOTE) bytes_->load(segment.p_offset, segment.p_filesz);
  }
  const std::uint64_t names = header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx;
  for (std::uint64_t index = 0; index < sections; ++index) {
    Elf64_Shdr section{};
    const std::uint64_t at = header.e_shoff + index * sizeof section;
    if (at >= bytes.size() || bytes.size() - at < sizeof section) break;
    std::memcpy(&section, bytes.data() + at, sizeof section);
    if (index == names || section.sh_type == SHT_NOTE) {
      bytes_->load(section.sh_offset, section.sh_size);
    }
  }
}

bool ElfFile::is_symbol_section(std::string_view name) {
  return name == ".symtab" || name == ".dynsym" || name == ".strtab" || name == ".dynstr" ||
         name == ".symtab_shndx" || name.starts_with(".rela") || name.starts_with(".plt");
}

// Locations of variables, macros and lookup tables are as large as the rest and not needed.
bool ElfFile::is_debug_section(std::string_view name) {
  if (name.starts_with(".gnu_debugaltlink")) return true;
  if (!name.starts_with(".debug_") && !name.starts_with(".zdebug_")) return false;
  const std::string_view kind = name.substr(name.find('_') + 1);
  return !kind.starts_with("loc") && !kind.starts_with("mac") && !kind.starts_with("pub") &&
         !kind.starts_with("gnu_pub") && !kind.starts_with("frame") && !kind.starts_with("names");
}

host::Result<void> ElfFile::load_debug_info() {
  load_sections(&is_debug_section);
  return expand_debug_sections();
}

void ElfFile::load_sections(bool (*wanted)(std::string_view name)) const {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf_.get(), &names) != 0) return;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf_.get(), section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf_.get(), names, header.sh_name);
    if (name != nullptr && wanted(name)) bytes_->load(header.sh_offset, header.sh_size);
  }
}

host::Result<void> ElfFile::load() {
  elf_version(EV_CURRENT);
  elf_.reset(elf_memory(bytes_->bytes().data(), bytes_->bytes().size()));
  if (elf_ == nullptr) return host::Error(elf_problem());
  GElf_Ehdr header;
  if (elf_kind(elf_.get()) != ELF_K_ELF || gelf_getehdr(elf_.get(), &header) == nullptr) {
    return host::Error("not an ELF file");
  }
  const void* id = nullptr;
  const ssize_t id_bytes = dwelf_elf_gnu_build_id(elf_.get(), &id);
  if (id_bytes > 0) {
    build_id_ =
        host::to_hex({static_cast<const std::byte*>(id), static_cast<std::size_t>(id_bytes)});
  }
  std::size_t count = 0;
  if (elf_getphdrnum(elf_.get(), &count) != 0) return host::Error(elf_problem());
  for (std::size_t index = 0; index < std::min(count, kMaxSegments); ++index) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_.get(), static_cast<int>(index), &segment) == nullptr) break;
    if (segment.p_type != PT_LOAD) continue;
    segments_.push_back({segment.p_offset, segment.p_vaddr, segment.p_filesz, segment.p_memsz,
                         (segment.p_flags & PF_X) != 0});
  }
  return {};
}

// Mappings are whole pages, so a byte of the file near a segment's edge may be mapped twice; the
// executable segment that holds it exactly is meant, then one whose pages hold it, then any.
const ElfFile::Segment* ElfFile::segment_of(FileOffset offset) const {
  const Segment* found = nullptr;
  int best = 0;
  for (const Segment& segment : segments_) {
    const std::uint64_t first_page = segment.offset & ~(kPageBytes - 1);
    const std::uint64_t from_page = offset.value - first_page;
    const std::uint64_t paged_size = segment.file_size + (segment.offset - first_page);
    const bool exact = offset.value - segment.offset < segment.file_size;
    const bool paged = from_page < ((paged_size + kPageBytes - 1) & ~(kPageBytes - 1));
    const int rank = (segment.executable ? 2 : 0) + (exact ? 1 : 0) + 1;
    if ((exact || paged) && rank > best) {
      best = rank;
      found = &segment;
    }
  }
  return found;
}

std::optional<ImageAddr> ElfFile::image_address(FileOffset offset) const {
  const Segment* segment = segment_of(offset);
  if (segment == nullptr) return std::nullopt;
  return ImageAddr{offset.value - segment->offset + segment->address};
}

std::optional<FileOffset> ElfFile::file_offset(ImageAddr address) const {
  for (const Segment& segment : segments_) {
    if (address.value - segment.address < segment.file_size) {
      return FileOffset{address.value - segment.address + segment.offset};
    }
  }
  return std::nullopt;
}

bool ElfFile::is_code(ImageAddr address) const {
  return std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
    return segment.executable && address.value - segment.address < segment.memory_size;
  });
}

bool ElfFile::has_file_offsets() const {
  return std::any_of(segments_.begin(), segments_.end(), [](const Segment& segment) {
    return segment.executable && segment.file_size != 0;
  });
}

Elf_Scn* ElfFile::find_section(std::string_view name, GElf_Shdr* header) const {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf_.get(), &names) != 0) return nullptr;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf_.get(), section)) != nullptr) {
    if (gelf_getshdr(section, header) == nullptr || header->sh_type == SHT_NOBITS) continue;
    const char* found = elf_strptr(elf_.get(), names, header->sh_name);
    if (found != nullptr && found == name) return section;
  }
  return nullptr;
}

bool ElfFile::has_debug_info() const {
  GElf_Shdr header;
  return find_section(".debug_info", &header) != nullptr ||
         find_section(".zdebug_info", &header) != nullptr;
}

ElfFile::Section ElfFile::section(std::string_view name) const {
  GElf_Shdr header;
  Elf_Scn* section = find_section(name, &header);
  return section == nullptr ? Section{} : contents(section, header);
}

ElfFile::Section ElfFile::section_at(ImageAddr address) const {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf_.get(), section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const bool is_loaded = (header.sh_flags & SHF_ALLOC) != 0;
    if (is_loaded && address.value - header.sh_addr < header.sh_size) {
      return contents(section, header);
    }
  }
  return {};
}

ElfFile::Section ElfFile::contents(Elf_Scn* section, const GElf_Shdr& header) const {
  bytes_->load(header.sh_offset, header.sh_size);
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {{static_cast<const char*>(data->d_buf), data->d_size}, {header.sh_addr}};
}

host::Result<ElfFile> read_own_vdso() {
  const char* image = nullptr;
  const unsigned long address = ::getauxval(AT_SYSINFO_EHDR);
  std::memcpy(&image, &address, sizeof image);
  if (image == nullptr) return host::Error("this system has no vDSO");
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  std::size_t size = header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum;
  for (std::size_t index = 0; index < header.e_phnum; ++index) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image + header.e_phoff + index * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) size = std::max(size, segment.p_offset + segment.p_filesz);
  }
  if (size > kMaxVdsoBytes) return host::Error("the vDSO's header is not understood");
  return ElfFile::from_memory(std::vector<char>(image, image + size));
}

}  // namespace swipr::symbolize
