// The input of a fuzz target as the memory of a process: it repeats, so every address is readable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "preload/unwind/base/image_reader.h"

struct RepeatingMemory {
  std::span<const std::byte> bytes;  // not empty
  std::uint64_t reads = 0;           // made so far

  swipr::unwind::ImageReader reader() noexcept { return {&read, this}; }

 private:
  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    auto& memory = *static_cast<RepeatingMemory*>(state);
    ++memory.reads;
    while (!out.empty()) {
      const auto part = memory.bytes.subspan(address % memory.bytes.size());
      const std::size_t count = std::min(part.size(), out.size());
      std::memcpy(out.data(), part.data(), count);
      out = out.subspan(count);
      address += count;
    }
    return true;
  }
};
