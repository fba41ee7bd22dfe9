// Copies of the needed parts of an .eh_frame section: the section itself may be unmapped while it
// is read.
// Context: control thread.  Allocates: mmap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::unwind {

class SectionCopy {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

  SectionCopy() noexcept = default;
  SectionCopy(const SectionCopy&) = delete;
  SectionCopy& operator=(const SectionCopy&) = delete;
  ~SectionCopy();

  // `section`: image addresses. Reads nothing yet.
  BuildStatus open(Range<std::uint64_t> section, std::uint64_t load_bias,
                   ImageReader reader) noexcept;
  // Copies the entry at `offset` and, for an FDE, its CIE, unless they are copied already. False:
  // not all of that is readable. Bytes that are not an entry are not changed: the parser rejects
  // them.
  bool load_entry(std::size_t offset) noexcept;
  // As long as the section; bytes that have not been loaded are zero.
  std::span<const std::byte> bytes() const noexcept { return {memory_, size_}; }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{8} << 10;

  bool load(std::size_t offset, std::uint64_t bytes) noexcept;

  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t address_ = 0;  // run-time address of the first byte
  ImageReader reader_{};
  std::array<std::uint64_t, kMaxBytes / kBlockBytes / 64> loaded_{};  // a bit each
};

}  // namespace swipr::unwind
