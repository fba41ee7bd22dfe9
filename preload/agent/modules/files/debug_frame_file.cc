#include "preload/agent/modules/files/debug_frame_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "preload/agent/base/libc_calls.h"

namespace swipr::agent {

namespace {

constexpr unsigned kMaxSections = 4096;  // libraries have about 40
constexpr char kName[] = ".debug_frame";

}  // namespace

DebugFrameFile::DebugFrameFile(std::string_view path, std::uint64_t inode) noexcept {
  char name[4096];
  if (!path.starts_with('/') || path.size() >= sizeof(name)) return;
  std::memcpy(name, path.data(), path.size());
  name[path.size()] = '\0';
  file_ = ::open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file_ < 0) return;
  struct stat status {};
  // The device is not compared: btrfs and overlayfs show different ones in maps and in stat.
  const bool is_it = libc::fstat(file_, &status) == 0 && S_ISREG(status.st_mode) &&
                     static_cast<std::uint64_t>(status.st_ino) == inode;
  if (!is_it || !find_section()) bytes_ = 0;
}

DebugFrameFile::~DebugFrameFile() {
  if (file_ >= 0) ::close(file_);
}

bool DebugFrameFile::read_at(std::uint64_t offset, void* out, std::size_t bytes) const noexcept {
  auto* at = static_cast<std::byte*>(out);
  while (bytes != 0) {
    if (static_cast<std::int64_t>(offset) < 0) return false;
    const ssize_t count = ::pread(file_, at, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

// Source: ELF-64 gABI, "Sections".
bool DebugFrameFile::find_section() noexcept {
  Elf64_Ehdr header;
  Elf64_Shdr names;
  if (!read_at(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof names ||
      header.e_shnum > kMaxSections || header.e_shstrndx >= header.e_shnum ||
      !read_at(header.e_shoff + header.e_shstrndx * sizeof names, &names, sizeof names)) {
    return false;
  }
  for (unsigned index = 0; index < header.e_shnum; ++index) {
    Elf64_Shdr section;
    char name[sizeof kName];
    if (!read_at(header.e_shoff + index * sizeof section, &section, sizeof section)) return false;
    if (section.sh_type != SHT_PROGBITS || (section.sh_flags & (SHF_ALLOC | SHF_COMPRESSED)) != 0 ||
        !read_at(names.sh_offset + section.sh_name, name, sizeof name) ||
        std::memcmp(name, kName, sizeof name) != 0) {
      continue;
    }
    offset_ = section.sh_offset;
    bytes_ = section.sh_size;
    return true;
  }
  return false;
}

unwind::DebugFrame DebugFrameFile::section() noexcept {
  const auto read = [](void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    const auto& self = *static_cast<const DebugFrameFile*>(state);
    return address <= self.bytes_ && out.size() <= self.bytes_ - address &&
           self.read_at(self.offset_ + address, out.data(), out.size());
  };
  return {.reader = {read, this}, .bytes = bytes_};
}

}  // namespace swipr::agent
