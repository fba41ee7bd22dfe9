// Reads the few ELF fields that decide whether a library can be preloaded. Hand-written, because
// cli/session has no ELF library. Every size from the file is checked before use.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "cli/session/launch/program.h"
#include "common/host/unique_fd.h"

namespace swipr::session {

namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#endif

constexpr std::size_t kMaxSegments = 1024;
constexpr std::size_t kMaxDynamicEntries = 4096;
constexpr std::size_t kMaxNameBytes = 4096;

bool read_at(int fd, std::uint64_t offset, std::span<std::byte> bytes) {
  return offset <= INT64_MAX &&
         ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) == std::ssize(bytes);
}

// Reads a NUL-terminated string; empty if there is none within `limit` bytes.
std::string read_name(int fd, std::uint64_t offset, std::size_t limit) {
  std::array<char, kMaxNameBytes> buffer{};
  if (offset > INT64_MAX) return "";
  const ssize_t count =
      ::pread(fd, buffer.data(), std::min(limit, buffer.size()), static_cast<off_t>(offset));
  if (count <= 0) return "";
  const auto end = std::find(buffer.begin(), buffer.begin() + count, '\0');
  return end == buffer.begin() + count ? "" : std::string(buffer.begin(), end);
}

std::optional<std::uint64_t> file_offset_of(std::span<const Elf64_Phdr> segments,
                                            std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

std::vector<std::string> read_needed(int fd, std::span<const Elf64_Phdr> segments,
                                     const Elf64_Phdr& dynamic) {
  std::vector<Elf64_Dyn> entries(
      std::min<std::size_t>(dynamic.p_filesz / sizeof(Elf64_Dyn), kMaxDynamicEntries));
  if (!read_at(fd, dynamic.p_offset, std::as_writable_bytes(std::span(entries)))) return {};
  const auto strings = std::find_if(entries.begin(), entries.end(), [](const Elf64_Dyn& entry) {
    return entry.d_tag == DT_STRTAB;
  });
  if (strings == entries.end()) return {};
  const auto table = file_offset_of(segments, strings->d_un.d_ptr);
  std::vector<std::string> names;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL || !table) break;
    if (entry.d_tag != DT_NEEDED) continue;
    if (std::string name = read_name(fd, *table + entry.d_un.d_val, kMaxNameBytes); !name.empty()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace

std::optional<ElfTraits> read_elf_traits(const std::string& path) {
  const host::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<unsigned char, EI_NIDENT> identity{};
  if (!fd || !read_at(fd.value(), 0, std::as_writable_bytes(std::span(identity))))
    return std::nullopt;
  if (std::memcmp(identity.data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
  ElfTraits traits;
  std::array<Elf64_Ehdr, 1> header{};
  traits.is_32_bit = identity[EI_CLASS] == ELFCLASS32;
  if (identity[EI_CLASS] != ELFCLASS64 || identity[EI_DATA] != ELFDATA2LSB) return traits;
  if (!read_at(fd.value(), 0, std::as_writable_bytes(std::span(header)))) return std::nullopt;
  if (header[0].e_machine != kMachine) return traits;
  traits.native = true;
  if (header[0].e_phentsize != sizeof(Elf64_Phdr) || header[0].e_phnum > kMaxSegments) {
    return std::nullopt;
  }
  std::vector<Elf64_Phdr> segments(header[0].e_phnum);
  if (!read_at(fd.value(), header[0].e_phoff, std::as_writable_bytes(std::span(segments))))
    return std::nullopt;
  struct stat status {};
  if (::fstat(fd.value(), &status) != 0) return std::nullopt;
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD) {
      traits.is_truncated = traits.is_truncated || segment.p_offset > file_bytes ||
                            segment.p_filesz > file_bytes - segment.p_offset;
    } else if (segment.p_type == PT_INTERP) {
      traits.interpreter = read_name(fd.value(), segment.p_offset,
                                     std::min<std::size_t>(segment.p_filesz, kMaxNameBytes));
    } else if (segment.p_type == PT_DYNAMIC) {
      traits.needed = read_needed(fd.value(), segments, segment);
    }
  }
  return traits;
}

}  // namespace swipr::session
