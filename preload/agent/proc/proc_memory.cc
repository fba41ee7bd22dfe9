#include "preload/agent/proc/proc_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/agent/proc/proc_directory.h"

namespace swipr::agent {

bool ProcMemory::open() noexcept {
  if (file_ < 0) file_ = open_below_proc("/proc/self/mem", O_RDONLY);
  return file_ >= 0;
}

void ProcMemory::close() noexcept {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

bool ProcMemory::read(std::uint64_t address, std::span<std::byte> out) const noexcept {
  // pread refuses negative offsets; the upper half of the address space belongs to the kernel
  // anyway.
  while (!out.empty()) {
    if (static_cast<std::int64_t>(address) < 0) return false;
    const ssize_t count = ::pread(file_, out.data(), out.size(), static_cast<off_t>(address));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(count));
    address += static_cast<std::uint64_t>(count);
  }
  return true;
}

unwind::ImageReader ProcMemory::image_reader() noexcept {
  return {[](void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
            return static_cast<const ProcMemory*>(state)->read(address, out);
          },
          this};
}

unwind::StackReader StackPieces::reader() noexcept {
  return {[](void* state, std::uint64_t address, std::uint64_t& out) noexcept {
            return static_cast<StackPieces*>(state)->read_word(address, out);
          },
          this};
}

bool StackPieces::read_word(std::uint64_t address, std::uint64_t& out) noexcept {
  if (address < begin_ || address - begin_ + sizeof(out) > size_) {
    if (static_cast<std::int64_t>(address) < 0) return false;
    // Saved registers lie below the return address, which is read first. Divides a page: what is
    // before the word is as readable as the word.
    constexpr std::uint64_t kGranule = 512;
    begin_ = address & -kGranule;
    // The count is short at the end of the mapping: the bytes before it are valid.
    const ssize_t count =
        ::pread(memory_.file_, bytes_.data(), bytes_.size(), static_cast<off_t>(begin_));
    size_ = count > 0 ? static_cast<std::size_t>(count) : 0;
    if (address - begin_ + sizeof(out) > size_) return false;
  }
  std::memcpy(&out, bytes_.data() + (address - begin_), sizeof(out));
  return true;
}

}  // namespace swipr::agent
