#include <fcntl.h>
#include <linux/auxvec.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "preload/machine/code_cache_aarch64.h"
#include "preload/machine/raw_syscall.h"
#include "preload/trace/gate/fork_lock.h"
#include "preload/trace/gate/mapped_page.h"

namespace swipr::trace {

namespace {

using machine::raw_syscall;

// A line of /proc/self/maps: "begin-end perms offset device inode path".
struct MapsLine {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;
  std::uint64_t inode = 0;
  std::uint32_t device_bytes = 0;
  std::uint32_t path_bytes = 0;
  char device[24];
  char path[4096];
};

// Reads a file by system calls.
class FileText {
 public:
  explicit FileText(const char* path) noexcept
      : file_(raw_syscall(SYS_openat, AT_FDCWD, address_of(path), O_RDONLY | O_CLOEXEC)) {}
  ~FileText() {
    if (file_ >= 0) raw_syscall(SYS_close, file_);
  }
  FileText(const FileText&) = delete;
  FileText& operator=(const FileText&) = delete;

  bool read_char(char& c) noexcept {
    if (at_ == size_) {
      size_ = file_ >= 0 ? raw_syscall(SYS_read, file_, address_of(buffer_), sizeof buffer_) : 0;
      at_ = 0;
      if (size_ <= 0) return false;
    }
    c = buffer_[at_++];
    return true;
  }
  // And the character behind it.
  bool read_number(std::uint64_t& value, unsigned base, char& behind) noexcept {
    value = 0;
    while (read_char(behind)) {
      const bool is_digit = behind >= '0' && behind <= '9';
      const bool is_letter = base == 16 && behind >= 'a' && behind <= 'f';
      if (!is_digit && !is_letter) return true;
      value = value * base + static_cast<unsigned>(is_digit ? behind - '0' : behind - 'a' + 10);
    }
    return false;
  }

 private:
  long file_;
  long at_ = 0;
  long size_ = 0;
  char buffer_[1024];
};

bool read_line(FileText& text, MapsLine& line) noexcept {
  char c = 0;
  if (!text.read_number(line.begin, 16, c) || !text.read_number(line.end, 16, c)) return false;
  for (c = 0; c != ' ';) {
    if (!text.read_char(c)) return false;  // permissions
  }
  if (!text.read_number(line.offset, 16, c)) return false;
  line.device_bytes = 0;
  while (text.read_char(c) && c != ' ') {
    if (line.device_bytes < sizeof line.device) line.device[line.device_bytes++] = c;
  }
  if (!text.read_number(line.inode, 10, c)) return false;
  line.path_bytes = 0;
  for (bool begins = false; c != '\n';) {
    if (!text.read_char(c)) return false;
    begins = begins || (c != ' ' && c != '\n');
    if (begins && c != '\n' && line.path_bytes + 1 < sizeof line.path) {
      line.path[line.path_bytes++] = c;
    }
  }
  line.path[line.path_bytes] = '\0';
  return true;
}

bool find_line(std::uint64_t address, MapsLine& line) noexcept {
  FileText text("/proc/self/maps");
  while (read_line(text, line)) {
    if (address >= line.begin && address < line.end) return true;
  }
  return false;
}

bool is_same_device(const MapsLine& a, const MapsLine& b) noexcept {
  if (a.device_bytes != b.device_bytes) return false;
  for (std::uint32_t at = 0; at < a.device_bytes; ++at) {
    if (a.device[at] != b.device[at]) return false;
  }
  return true;
}

std::uint64_t page_bytes() noexcept {
  static std::uint64_t known = 0;
  if (known != 0) return known;
  struct Entry {
    std::uint64_t kind;
    std::uint64_t value;
  } entries[64];
  constexpr char kPath[] = "/proc/self/auxv";
  const long file = raw_syscall(SYS_openat, AT_FDCWD, address_of(kPath), O_RDONLY | O_CLOEXEC);
  const long size = raw_syscall(SYS_read, file, address_of(entries), sizeof entries);
  if (file >= 0) raw_syscall(SYS_close, file);
  for (long at = 0; (at + 1) * static_cast<long>(sizeof(Entry)) <= size; ++at) {
    if (entries[at].kind == AT_PAGESZ) known = entries[at].value;
  }
  return known;
}

// 0: it cannot be mapped.
std::uint64_t map(long file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const int flags = MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0);
  const long result = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                  flags, file, static_cast<long>(file < 0 ? 0 : offset));
  return result < 0 && result > -4096 ? 0 : static_cast<std::uint64_t>(result);
}

// The same page of the same file, as /proc/self/maps names both: the device of a file is another
// one there than in stat(2) on some file systems. 0: the path leads to another file, or to none.
std::uint64_t map_file_of(const MapsLine& line, std::uint64_t page, std::uint64_t bytes) noexcept {
  if (line.path_bytes == 0 || line.path[0] != '/') return 0;
  const long file = raw_syscall(SYS_openat, AT_FDCWD, address_of(line.path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const std::uint64_t mapped = map(file, line.offset + (page - line.begin), bytes);
  raw_syscall(SYS_close, file);
  static MapsLine found;
  if (mapped == 0) return 0;
  if (find_line(mapped, found) && found.inode == line.inode && is_same_device(found, line)) {
    return mapped;
  }
  drop({mapped, bytes});
  return 0;
}

bool read_memory(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) noexcept {
  iovec local{reinterpret_cast<void*>(to), bytes};
  iovec remote{reinterpret_cast<void*>(from), bytes};
  return raw_syscall(SYS_process_vm_readv, raw_syscall(SYS_getpid), address_of(&local), 1,
                     address_of(&remote), 1, 0) == static_cast<long>(bytes);
}

}  // namespace

CopyStatus copy_page(std::uint64_t code, bool any_file, PageCopy& out) noexcept {
  static MapsLine line;
  const std::uint64_t bytes = page_bytes();
  const std::uint64_t page = code & -bytes;
  if (bytes == 0 || !find_line(code, line)) return CopyStatus::kUnreadable;
  std::uint64_t mapped = line.inode != 0 ? map_file_of(line, page, bytes) : 0;
  if (mapped == 0 && (line.inode == 0 || any_file)) mapped = map(-1, 0, bytes);
  if (mapped == 0) return CopyStatus::kNotMapped;
  out = {mapped, bytes};
  if (read_memory(page, mapped, bytes)) return CopyStatus::kCopied;
  drop(out);
  return CopyStatus::kUnreadable;
}

bool move_over(const PageCopy& copy, std::uint64_t code) noexcept {
  machine::synchronise_code(reinterpret_cast<const void*>(copy.address), copy.bytes);
  const auto from = static_cast<long>(copy.address);
  const auto bytes = static_cast<long>(copy.bytes);
  const auto to = static_cast<long>(code & -copy.bytes);
  return raw_syscall(SYS_mprotect, from, bytes, PROT_READ | PROT_EXEC) == 0 &&
         raw_syscall(SYS_mremap, from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
}

void drop(const PageCopy& copy) noexcept {
  raw_syscall(SYS_munmap, static_cast<long>(copy.address), static_cast<long>(copy.bytes));
}

}  // namespace swipr::trace
