#include "preload/agent/modules/module_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "preload/agent/base/fixed_text.h"
#include "preload/agent/proc/proc_directory.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/agent/proc/proc_text.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kMaxNoteBytes = 4096;  // a build-id's note has 36 bytes and comes early
constexpr unsigned kMaxProgramHeaders = 64;

bool read_at(int fd, std::uint64_t offset, void* out, std::size_t bytes) noexcept {
  return ::pread(fd, out, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

// Source: System V gABI, "Note Section"; padding to 4 bytes, as binutils writes it.
bool find_build_id(std::span<const char> notes, TextWriter& out) noexcept {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data(), sizeof header);
    const std::size_t name_bytes = (std::size_t{header.n_namesz} + 3) & ~std::size_t{3};
    const std::size_t value_bytes = (std::size_t{header.n_descsz} + 3) & ~std::size_t{3};
    const std::size_t total = sizeof header + name_bytes + value_bytes;
    if (total > notes.size()) return false;
    const char* name = notes.data() + sizeof header;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(name, "GNU", 4) == 0) {
      for (std::size_t i = 0; i < header.n_descsz; ++i) {
        out.append_hex(static_cast<unsigned char>(name[name_bytes + i]), 2);
      }
      return true;
    }
    notes = notes.subspan(total);
  }
  return false;
}

bool read_build_id(int fd, TextWriter& out) noexcept {
  Elf64_Ehdr header;
  if (!read_at(fd, 0, &header, sizeof header)) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  for (unsigned i = 0; i < std::min<unsigned>(header.e_phnum, kMaxProgramHeaders); ++i) {
    Elf64_Phdr segment;
    if (!read_at(fd, header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return false;
    if (segment.p_type != PT_NOTE) continue;
    char notes[kMaxNoteBytes];
    const std::size_t bytes = std::min<std::size_t>(segment.p_filesz, sizeof notes);
    if (read_at(fd, segment.p_offset, notes, bytes) && find_build_id({notes, bytes}, out)) {
      return true;
    }
  }
  return false;
}

enum class Link : std::uint8_t { kNone, kOfMapping };

// A file that can be opened by a name need not be the mapped one any more; what the kernel links to
// a mapping is. The device is not compared: btrfs and overlayfs show another one in maps than in
// stat.
ModuleFile accept(int fd, Link link, const MapsLine& mapping, std::string_view build_id) noexcept {
  if (fd < 0) return {};
  struct stat status {};
  FixedText<129> found;
  const bool is_mapped = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                         (link == Link::kOfMapping || status.st_ino == mapping.inode);
  if (is_mapped && read_build_id(fd, found) && !found.overflowed() && found.view() == build_id) {
    return {fd, static_cast<std::uint64_t>(status.st_size)};
  }
  ::close(fd);
  return {};
}

// In turn: the link to the mapping, which has deleted files and memfds as well but is followed for
// CAP_SYS_ADMIN only (fs/proc/base.c, proc_map_files_get_link); the path; the program itself, which
// everybody can open whatever became of its file.
ModuleFile open_if_it_is(const MapsLine& mapping, std::string_view build_id) noexcept {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
  FixedText<64> link;
  link.append("/proc/self/map_files/").append_hex(mapping.start).append('-');
  link.append_hex(mapping.end);
  ModuleFile file =
      accept(open_below_proc(link.c_str(), kFlags), Link::kOfMapping, mapping, build_id);
  if (file.fd >= 0) return file;
  const PathText path(mapping.path);
  file = accept(::open(path.c_str(), kFlags | O_CLOEXEC), Link::kNone, mapping, build_id);
  if (file.fd >= 0) return file;
  return accept(open_below_proc("/proc/self/exe", kFlags), Link::kNone, mapping, build_id);
}

}  // namespace

ModuleFile open_module_file(std::string_view build_id) noexcept {
  if (build_id.empty()) return {};
  LineReader maps("/proc/self/maps");
  std::string_view line;
  std::uint64_t last_inode = 0;
  std::uint64_t last_device = 0;
  while (maps.next(line)) {
    MapsLine mapping;
    if (!parse_maps_line(line, mapping) || !mapping.executable) continue;
    if (!mapping.path.starts_with('/')) continue;
    // Another segment of the same file.
    if (mapping.inode == last_inode && mapping.device == last_device) continue;
    last_inode = mapping.inode;
    last_device = mapping.device;
    const ModuleFile file = open_if_it_is(mapping, build_id);
    if (file.fd >= 0) return file;
  }
  return {};
}

}  // namespace swipr::agent
