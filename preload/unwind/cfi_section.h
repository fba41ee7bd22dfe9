// CIEs and FDEs of a copied .eh_frame section.
// Context: control thread.  Allocates: never.
// Source: LSB 5.0 Core, section 10.6.1; DWARF 5, section 6.4.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "common/core/range.h"

namespace swipr::unwind {

// One record of the section: a CIE, or an FDE that belongs to the CIE at offset `cie`.
struct CfiEntry {
  std::size_t offset = 0;
  std::size_t body = 0;  // offset behind the CIE id or pointer
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

class CfiSection {
 public:
  // `address`: image address of the first byte. `load_bias`: for pointers that were relocated.
  CfiSection(std::span<const std::byte> bytes, std::uint64_t address,
             std::uint64_t load_bias) noexcept
      : bytes_(bytes), address_(address), load_bias_(load_bias) {}

  // Bytes of the entry at `offset` with its length field, as far as `bytes` tell; 0: the
  // terminator, or not enough bytes to know.
  static std::uint64_t entry_bytes(std::span<const std::byte> bytes, std::size_t offset) noexcept;

  // nullopt: terminator, end, or bytes that are no entry.
  std::optional<CfiEntry> parse_entry(std::size_t offset) const noexcept;
  // nullopt: unknown version or augmentation, another machine's registers.
  std::optional<Cie> parse_cie(const CfiEntry& entry) const noexcept;
  std::optional<Fde> parse_fde(const CfiEntry& entry, const Cie& cie) const noexcept;

  // For DW_CFA_set_loc and expressions: where in the section a span of it starts.
  std::size_t offset_of(std::span<const std::byte> part) const noexcept {
    return static_cast<std::size_t>(part.data() - bytes_.data());
  }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::uint64_t address() const noexcept { return address_; }
  std::uint64_t load_bias() const noexcept { return load_bias_; }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  std::uint64_t load_bias_;
};

}  // namespace swipr::unwind
