#include "symbolize/elf/file_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "symbolize/base/parallel.h"

namespace swipr::symbolize {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{128} << 10;
// Each requested part may take up to 2 MiB of additional memory.
constexpr std::size_t kLargeFileBytes = std::size_t{32} << 20;
// A thread reads one huge page at a time, so that no two threads fault in the same page.
constexpr std::size_t kPartBytes = std::size_t{2} << 20;
static_assert(kPartBytes % kChunkBytes == 0, "no two threads read the same chunk");
constexpr std::size_t kMinParallelParts = 4;  // fewer take less time than starting a thread

// nullptr: no memory; the mapping is unchanged.
void* grow_mapping(void* data, std::size_t size, std::size_t new_size) {
#ifdef SWIPR_TSAN
  // Does not see mremap, and takes what another thread then gets at the old address for what was
  // there before.
  void* grown = ::mmap(nullptr, new_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (grown == MAP_FAILED) return nullptr;
  std::memcpy(grown, data, size);
  ::munmap(data, size);
  return grown;
#else
  void* grown = ::mremap(data, size, new_size, MREMAP_MAYMOVE);
  return grown == MAP_FAILED ? nullptr : grown;
#endif
}

}  // namespace

host::Result<std::shared_ptr<FileBytes>> FileBytes::open(host::UniqueFd fd, std::size_t size) {
  std::shared_ptr<FileBytes> file(new FileBytes);
  void* data = ::mmap(nullptr, std::max<std::size_t>(size, 1), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return host::system_error("cannot reserve memory", errno);
  // Half of the time in which a hundred megabytes are read goes into page faults. The whole
  // mapping, because one that has parts cannot grow.
  if (size >= kLargeFileBytes) ::madvise(data, size, MADV_HUGEPAGE);
  file->fd_ = std::move(fd);
  file->data_ = static_cast<char*>(data);
  file->size_ = size;
  file->file_size_ = size;
  file->loaded_.resize((size + kChunkBytes - 1) / kChunkBytes);
  return file;
}

std::shared_ptr<FileBytes> FileBytes::from_memory(std::vector<char> bytes) {
  std::shared_ptr<FileBytes> file(new FileBytes);
  file->memory_ = std::move(bytes);
  file->data_ = file->memory_.data();
  file->size_ = file->memory_.size();
  return file;
}

FileBytes::~FileBytes() {
  if (memory_.empty() && data_ != nullptr) ::munmap(data_, std::max<std::size_t>(size_, 1));
}

bool FileBytes::grow(std::size_t count) {
  if (memory_.empty()) {
    void* data = grow_mapping(data_, std::max<std::size_t>(size_, 1), size_ + count);
    if (data == nullptr) return false;
    data_ = static_cast<char*>(data);
  } else {
    memory_.resize(size_ + count);
    data_ = memory_.data();
  }
  size_ += count;
  return true;
}

void FileBytes::load(std::uint64_t offset, std::uint64_t size) {
  if (offset >= file_size_ || size == 0 || loaded_.empty()) return;
  const std::uint64_t end = offset + std::min(size, file_size_ - offset);
  const std::size_t first = offset / kPartBytes;
  const std::size_t count = (end - 1) / kPartBytes - first + 1;
  const std::size_t threads = count < kMinParallelParts ? 1 : worth_of_threads();
  for_each_index(count, threads, [&](std::size_t index) {
    const std::uint64_t part = std::uint64_t{first + index} * kPartBytes;
    load_chunks(std::max(part, offset), std::min(part + kPartBytes, end));
  });
}

void FileBytes::load_chunks(std::uint64_t begin, std::uint64_t end) {
  for (std::size_t chunk = begin / kChunkBytes; chunk * kChunkBytes < end; ++chunk) {
    if (loaded_[chunk] != 0) continue;
    loaded_[chunk] = 1;
    std::size_t at = chunk * kChunkBytes;
    const std::size_t chunk_end = std::min(at + kChunkBytes, file_size_);
    while (at < chunk_end) {
      const ssize_t count =
          ::pread(fd_.value(), data_ + at, chunk_end - at, static_cast<off_t>(at));
      if (count <= 0) break;
      at += static_cast<std::size_t>(count);
    }
  }
}

}  // namespace swipr::symbolize
