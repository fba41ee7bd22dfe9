// The process's own memory through /proc/self/mem: reads never fault, even if other threads unmap
// memory meanwhile. The descriptor is opened when recordings start and kept while they run (after
// setuid or PR_SET_DUMPABLE 0 it cannot be opened any more, but an open one works).
// Context: control thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent {

class ProcMemory {
 public:
  bool open() noexcept;
  void close() noexcept;
  bool is_open() const noexcept { return file_ >= 0; }

  // False: not all of it readable.
  bool read(std::uint64_t address, std::span<std::byte> out) const noexcept;
  unwind::ImageReader image_reader() noexcept;

 private:
  friend class StackPieces;
  int file_ = -1;
};

// Reads the stack of one walk in pieces: 8 KiB take 3 to 5 µs, one word takes 1.6 µs, and most
// stacks end within the first piece.
class StackPieces {
 public:
  explicit StackPieces(const ProcMemory& memory) noexcept : memory_(memory) {}
  unwind::StackReader reader() noexcept;
  bool read_word(std::uint64_t address, std::uint64_t& out) noexcept;

 private:
  const ProcMemory& memory_;
  std::uint64_t begin_ = 0;
  std::size_t size_ = 0;
  std::array<std::byte, 8192> bytes_;
};

}  // namespace swipr::agent
