#include "preload/trace/near_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/trace/plan/patch.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::trace {

namespace {

constexpr std::uint64_t kPageBytes = 4096;

// Ranges of /proc/self/maps, in order.
class MappedRanges {
 public:
  MappedRanges() noexcept : file_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MappedRanges() {
    if (file_ >= 0) ::close(file_);
  }
  MappedRanges(const MappedRanges&) = delete;
  MappedRanges& operator=(const MappedRanges&) = delete;

  // `grows`: the main thread's stack, which may become larger below.
  bool next(std::uint64_t& begin, std::uint64_t& end, bool& grows) noexcept {
    if (!read_number(begin) || !read_number(end)) return false;
    static constexpr char kName[] = "[stack]";
    std::size_t matched = 0;
    for (char c = ' '; c != '\n';) {
      if (!read_char(c)) return false;
      if (matched + 1 < sizeof kName) matched = c == kName[matched] ? matched + 1 : 0;
    }
    grows = matched + 1 == sizeof kName;
    return true;
  }

 private:
  bool read_char(char& c) noexcept {
    if (at_ == size_) {
      size_ = file_ >= 0 ? ::read(file_, buffer_, sizeof buffer_) : 0;
      at_ = 0;
      if (size_ <= 0) return false;
    }
    c = buffer_[at_++];
    return true;
  }
  // Hexadecimal, and the character behind it.
  bool read_number(std::uint64_t& value) noexcept {
    value = 0;
    for (char c = '0'; read_char(c);) {
      if (c >= '0' && c <= '9') {
        value = value << 4 | static_cast<unsigned>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        value = value << 4 | static_cast<unsigned>(c - 'a' + 10);
      } else {
        return true;
      }
    }
    return false;
  }

  int file_;
  ssize_t at_ = 0;
  ssize_t size_ = 0;
  char buffer_[4096];
};

std::uint64_t distance(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? b - a : a - b; }

// Below a mapping, with a page between them. Never above one: that may be the heap, which grows.
std::uint64_t nearest_free(std::uint64_t address) noexcept {
  MappedRanges ranges;
  const std::uint64_t unit = unwind::page_bytes();
  std::uint64_t free_begin = 64 << 10;  // the kernel's usual lower bound
  std::uint64_t best = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool grows = false;
  while (ranges.next(begin, end, grows)) {
    if (!grows && begin > free_begin && begin - free_begin >= 3 * unit) {
      const std::uint64_t page = begin - 2 * unit;
      if (best == 0 || distance(page, address) < distance(best, address)) best = page;
    }
    free_begin = end;
  }
  return best != 0 && distance(best, address) < kFarthestCopy ? best : 0;
}

}  // namespace

std::uint64_t map_page_near(std::uint64_t address) noexcept {
  // Another thread may map there meanwhile.
  for (int round = 0; round < 8; ++round) {
    const std::uint64_t page = nearest_free(address);
    if (page == 0) return 0;
    void* const memory = ::mmap(reinterpret_cast<void*>(page), kPageBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == reinterpret_cast<void*>(page)) return page;
    if (memory != MAP_FAILED) ::munmap(memory, kPageBytes);  // a kernel that knows no such flag
  }
  return 0;
}

}  // namespace swipr::trace
