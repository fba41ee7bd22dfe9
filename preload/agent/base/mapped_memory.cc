#include "preload/agent/base/mapped_memory.h"

#include <cstring>

namespace swipr::agent {

namespace {

void* map_pages(std::size_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  ::madvise(memory, bytes, MADV_DONTFORK);
  return memory;
}

// The mapping of the small pieces. Pieces follow each other and are not used twice.
class SmallPieces {
 public:
  static constexpr std::size_t kLargestPiece = std::size_t{16} << 10;

  // nullptr: no room is left, or no memory.
  void* take(std::size_t bytes) noexcept {
    if (memory_ == nullptr) {
      memory_ = static_cast<std::byte*>(map_pages(kBytes));
      if (memory_ == nullptr) return nullptr;
      used_ = live_ = 0;
    }
    if (bytes > kBytes - used_) return nullptr;
    std::byte* const piece = memory_ + used_;
    used_ += bytes;
    live_ += bytes;
    return piece;
  }
  bool has(const void* piece) const noexcept {
    return memory_ != nullptr && piece >= memory_ && piece < memory_ + kBytes;
  }
  // In place, which only the last piece can; else false.
  bool grow(const void* piece, std::size_t bytes, std::size_t new_bytes) noexcept {
    const std::size_t added = new_bytes - bytes;
    if (static_cast<const std::byte*>(piece) + bytes != memory_ + used_) return false;
    if (added > kBytes - used_) return false;
    used_ += added;
    live_ += added;
    return true;
  }
  void release(std::size_t bytes) noexcept {
    live_ -= bytes;
    if (live_ != 0) return;
    ::munmap(memory_, kBytes);
    memory_ = nullptr;
  }
  void forget() noexcept { memory_ = nullptr; }

 private:
  static constexpr std::size_t kBytes = std::size_t{256} << 10;

  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
  std::size_t live_ = 0;  // of the used bytes, those of pieces that are not released
};
constinit SmallPieces small_pieces;

}  // namespace

void* map_memory(std::size_t bytes, Lifetime lifetime) noexcept {
  if (lifetime == Lifetime::kRecording && bytes <= SmallPieces::kLargestPiece) {
    if (void* const piece = small_pieces.take(bytes); piece != nullptr) return piece;
  }
  return map_pages(bytes);
}

void* grow_memory(void* memory, std::size_t bytes, std::size_t new_bytes) noexcept {
  if (!small_pieces.has(memory)) {
    void* const grown = ::mremap(memory, bytes, new_bytes, MREMAP_MAYMOVE);
    return grown == MAP_FAILED ? nullptr : grown;
  }
  if (new_bytes <= SmallPieces::kLargestPiece && small_pieces.grow(memory, bytes, new_bytes)) {
    return memory;
  }
  void* const grown = map_memory(new_bytes);
  if (grown == nullptr) return nullptr;
  std::memcpy(grown, memory, bytes);
  small_pieces.release(bytes);
  return grown;
}

void unmap_memory(void* memory, std::size_t bytes) noexcept {
  if (small_pieces.has(memory)) return small_pieces.release(bytes);
  ::munmap(memory, bytes);
}

void forget_mapped_memory() noexcept { small_pieces.forget(); }

}  // namespace swipr::agent
