// How the readers of ELF images and call frame information access memory, and their results.
// Context: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace swipr::unwind {

// Reads the image's memory without ever faulting (the agent: pread on /proc/self/mem). False: not
// all of it readable.
struct ImageReader {
  bool (*read)(void* state, std::uint64_t address, std::span<std::byte> out) noexcept;
  void* state;

  template <typename T>
  bool read_value(std::uint64_t address, T& out) const noexcept {
    return read(state, address, std::as_writable_bytes(std::span<T, 1>(&out, 1)));
  }
};

enum class BuildStatus : std::uint8_t { kOk, kNoCfi, kUnreadable, kDamaged, kTooLarge, kNoMemory };

}  // namespace swipr::unwind
