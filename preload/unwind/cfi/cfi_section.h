// CIEs and FDEs of a copied .eh_frame or .debug_frame section.
// Context: control thread.  Allocates: never.
// Source: LSB 5.0 Core, section 10.6.1; DWARF 5, section 6.4.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/core/byte_cursor.h"
#include "common/core/range.h"
#include "preload/unwind/cfi/encoded_pointer.h"

namespace swipr::unwind {

// One record of the section: a CIE, or an FDE that belongs to the CIE at offset `cie`.
struct CfiEntry {
  std::size_t offset = 0;
  std::size_t body = 0;  // offset after the CIE id or pointer
  std::size_t end = 0;   // offset of the next entry
  bool is_cie = false;
  std::size_t cie = 0;
};

struct Cie {
  std::uint64_t code_alignment = 0;
  std::int64_t data_alignment = 0;
  std::uint8_t pointer_encoding = 0;
  bool has_augmentation = false;  // FDEs carry augmentation data
  bool signal_frame = false;
  std::span<const std::byte> instructions;
};

struct Fde {
  Range<std::uint64_t> code;  // image addresses
  std::span<const std::byte> instructions;
};

enum class CfiFormat : std::uint8_t { kEhFrame, kDebugFrame };

class CfiSection {
 public:
  // `address`: image address of the first byte. `load_bias`: for pointers that were relocated.
  CfiSection(std::span<const std::byte> bytes, std::uint64_t address, std::uint64_t load_bias,
             CfiFormat format = CfiFormat::kEhFrame) noexcept
      : bytes_(bytes), address_(address), load_bias_(load_bias), format_(format) {}

  // Size of the entry at `offset` including its length field; 0: the terminator, or `bytes` ends
  // too early.
  static std::uint64_t entry_bytes(std::span<const std::byte> bytes, std::size_t offset) noexcept;

  // nullopt: terminator, end, or bytes that are not an entry.
  std::optional<CfiEntry> parse_entry(std::size_t offset) const noexcept;
  // nullopt: unknown version or augmentation, another machine's registers.
  std::optional<Cie> parse_cie(const CfiEntry& entry) const noexcept;
  std::optional<Fde> parse_fde(const CfiEntry& entry, const Cie& cie) const noexcept;

  // For DW_CFA_set_loc and expressions: offset in the section at which a span starts.
  std::size_t offset_of(std::span<const std::byte> part) const noexcept {
    return static_cast<std::size_t>(part.data() - bytes_.data());
  }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::uint64_t address() const noexcept { return address_; }
  std::uint64_t load_bias() const noexcept { return load_bias_; }

 private:
  static constexpr std::uint32_t kExtendedLength = 0xffffffff;  // 64-bit DWARF: the length follows

  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  std::uint64_t load_bias_;
  CfiFormat format_;
};

// Inlined: a large library has a hundred thousand entries, each read twice.

inline std::uint64_t CfiSection::entry_bytes(std::span<const std::byte> bytes,
                                             std::size_t offset) noexcept {
  if (offset > bytes.size()) return 0;
  ByteCursor cursor(bytes.subspan(offset));
  const auto length = cursor.fixed<std::uint32_t>();
  if (length != kExtendedLength) return length == 0 ? 0 : std::uint64_t{length} + 4;
  const auto extended = cursor.fixed<std::uint64_t>();
  return extended == 0 || extended > UINT64_MAX - 12 ? 0 : extended + 12;
}

inline std::optional<CfiEntry> CfiSection::parse_entry(std::size_t offset) const noexcept {
  const std::uint64_t size = entry_bytes(bytes_, offset);
  if (size == 0 || size > bytes_.size() - offset) return std::nullopt;
  ByteCursor cursor(bytes_.subspan(offset, static_cast<std::size_t>(size)));
  const bool extended = cursor.fixed<std::uint32_t>() == kExtendedLength;
  if (extended) cursor.skip(8);
  const std::size_t id_at = offset + cursor.position();
  // .eh_frame: four bytes even after a long length.
  const bool wide = extended && format_ == CfiFormat::kDebugFrame;
  const std::uint64_t id = wide ? cursor.fixed<std::uint64_t>() : cursor.fixed<std::uint32_t>();
  if (cursor.failed()) return std::nullopt;
  CfiEntry entry{.offset = offset,
                 .body = offset + cursor.position(),
                 .end = offset + static_cast<std::size_t>(size)};
  if (format_ == CfiFormat::kDebugFrame) {  // the CIE's offset in the section, or all ones
    entry.is_cie = id == (wide ? UINT64_MAX : UINT32_MAX);
    entry.cie = static_cast<std::size_t>(id);
    return entry;
  }
  entry.is_cie = id == 0;
  if (id > id_at) return std::nullopt;  // the distance back from this field
  entry.cie = id_at - static_cast<std::size_t>(id);
  return entry;
}

inline std::optional<Fde> CfiSection::parse_fde(const CfiEntry& entry,
                                                const Cie& cie) const noexcept {
  ByteCursor cursor(bytes_.subspan(entry.body, entry.end - entry.body));
  const PointerBases bases{.field = address_ + entry.body, .data = 0, .absolute = load_bias_};
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  if (!decode_pointer(cursor, cie.pointer_encoding, bases, start)) return std::nullopt;
  if (!decode_number(cursor, cie.pointer_encoding, size)) return std::nullopt;
  if (cie.has_augmentation) cursor.skip(cursor.uleb());
  if (cursor.failed() || size > UINT64_MAX - start) return std::nullopt;
  return Fde{.code = {start, start + size}, .instructions = cursor.rest()};
}

}  // namespace swipr::unwind
