// An unwind table as bytes that another process, or a later recording, can use: a header that
// identifies the image, then the table. Context: control thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::unwind {

// Identifies the image of a table. The ranges distinguish images that share a build-id by mistake.
struct TableKey {
  std::uint32_t build_id_bytes = 0;
  std::uint32_t unused = 0;
  std::array<std::byte, 64> build_id{};
  std::uint64_t text_begin = 0;
  std::uint64_t text_end = 0;
  std::uint64_t eh_frame_begin = 0;
  std::uint64_t eh_frame_end = 0;

  // Without a build-id, images cannot be distinguished.
  bool is_usable() const noexcept { return build_id_bytes != 0; }
  friend bool operator==(const TableKey&, const TableKey&) = default;
};
TableKey key_of(const BuildResult& image) noexcept;

// For this processor and this version of the format; others are refused. Numbers have the byte
// order of the machine.
struct TableHeader {
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::uint32_t machine = 0;  // e_machine of ELF
  TableKey key;
  std::uint64_t checksum = 0;  // of the bytes after the header
  std::uint64_t base = 0;      // from here on as in UnwindTable
  std::uint64_t covered_bytes = 0;
  std::uint32_t page_shift = 0;
  std::uint32_t row_count = 0;
  std::uint32_t rule_count = 0;
  std::uint32_t function_count = 0;
  std::uint32_t location_count = 0;
  std::uint32_t pool_bytes = 0;
};
static_assert(sizeof(TableHeader) == 168, "no padding: its bytes are written");

// Header and parts, in the order in which they are written. Valid as long as the table.
inline constexpr std::size_t kTablePartCount = 7;
struct TableImage {
  TableHeader header;
  std::array<std::span<const std::byte>, kTablePartCount> parts;
};
TableImage image_of(const UnwindTable& table, const TableKey& key) noexcept;

// Makes a table of `memory`: kTableImageAt free bytes, then `bytes` as they were read. Every byte
// is untrusted: each index and size is checked here once, because walks do not check them. The
// memory must therefore be private and not a mapped file. nullptr: not a table of this image; the
// caller still owns the memory. Otherwise destroy_table frees it.
// Bounds: time linear in the size.
inline constexpr std::size_t kTableImageAt = 256;
const UnwindTable* open_table_image(Mapping memory, std::size_t bytes,
                                    const TableKey& key) noexcept;

}  // namespace swipr::unwind
