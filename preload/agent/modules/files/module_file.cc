#include "preload/agent/modules/files/module_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "preload/agent/base/libc_calls.h"
#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/proc/proc_directory.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/agent/proc/proc_text.h"
#include "preload/unwind/image/build_id.h"

namespace swipr::agent {

namespace {

constexpr std::uint64_t kMaxNoteBytes = 4096;  // a build-id's note has 36 bytes, at the start
constexpr std::size_t kMaxBuildIdBytes = 64;   // SHA-1, the longest in use, has 20
constexpr unsigned kMaxProgramHeaders = 64;

bool read_at(int fd, std::uint64_t offset, void* out, std::size_t bytes) noexcept {
  return ::pread(fd, out, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

bool read_of_file(void* state, std::uint64_t offset, std::span<std::byte> out) noexcept {
  return read_at(*static_cast<int*>(state), offset, out.data(), out.size());
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
    std::byte build_id[kMaxBuildIdBytes];
    const std::uint32_t bytes = unwind::read_build_id(
        {segment.p_offset, std::min(segment.p_filesz, kMaxNoteBytes), segment.p_align},
        {&read_of_file, &fd}, build_id);
    for (const std::byte byte : std::span(build_id, bytes)) {
      out.append_hex(std::to_integer<unsigned>(byte), 2);
    }
    if (bytes != 0) return true;
  }
  return false;
}

enum class Link : std::uint8_t { kNone, kOfMapping };

// A file that is opened by name may not be the mapped one any more; the one behind the kernel's
// link of a mapping is. The device is not compared: btrfs and overlayfs show different ones in maps
// and in stat.
ModuleFile accept(int fd, Link link, const MapsLine& mapping, std::string_view build_id) noexcept {
  if (fd < 0) return {};
  struct stat status {};
  FixedText<129> found;
  const bool is_mapped = libc::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                         (link == Link::kOfMapping || status.st_ino == mapping.inode);
  if (is_mapped && read_build_id(fd, found) && !found.overflowed() && found.view() == build_id) {
    return {fd, static_cast<std::uint64_t>(status.st_size)};
  }
  ::close(fd);
  return {};
}

// Tries in turn: the link of the mapping, which covers deleted files and memfds but needs
// CAP_SYS_ADMIN (fs/proc/base.c, proc_map_files_get_link); the path; the link of the executable,
// which works even if its file was deleted.
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
