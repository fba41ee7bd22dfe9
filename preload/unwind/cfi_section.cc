#include "preload/unwind/cfi_section.h"

#include "preload/unwind/architecture.h"
#include "preload/unwind/byte_cursor.h"
#include "preload/unwind/encoded_pointer.h"

namespace swipr::unwind {
namespace {

constexpr std::uint32_t kExtendedLength = 0xffffffff;  // 64-bit DWARF: the real length follows
constexpr std::size_t kMaxAugmentationLetters = 16;

// "z" and what its data holds. False: a letter whose data we cannot size.
bool parse_augmentation(ByteCursor& cursor, std::span<const std::byte> letters, Cie& cie) noexcept {
  if (letters.empty()) return true;
  if (letters[0] != std::byte{'z'}) return false;
  cie.has_augmentation = true;
  ByteCursor data(cursor.take(cursor.uleb()));
  for (const std::byte letter : letters.subspan(1)) {
    std::uint64_t ignored = 0;
    switch (static_cast<char>(letter)) {
      case 'R':
        cie.pointer_encoding = data.u8();
        break;
      case 'L':
        data.skip(1);
        break;
      case 'P':  // the personality routine; its pointer may be indirect, which does not change its
                 // size
        if (!decode_number(data, data.u8(), ignored)) return false;
        break;
      case 'S':
        cie.signal_frame = true;
        break;
      case 'B':
        break;  // return addresses are signed with the B key (AArch64)
      default:
        return false;
    }
  }
  return !data.failed() && !cursor.failed();
}

}  // namespace

std::uint64_t CfiSection::entry_bytes(std::span<const std::byte> bytes,
                                      std::size_t offset) noexcept {
  if (offset > bytes.size()) return 0;
  ByteCursor cursor(bytes.subspan(offset));
  const auto length = cursor.fixed<std::uint32_t>();
  if (length != kExtendedLength) return length == 0 ? 0 : std::uint64_t{length} + 4;
  const auto extended = cursor.fixed<std::uint64_t>();
  return extended == 0 || extended > UINT64_MAX - 12 ? 0 : extended + 12;
}

std::optional<CfiEntry> CfiSection::parse_entry(std::size_t offset) const noexcept {
  const std::uint64_t size = entry_bytes(bytes_, offset);
  if (size == 0 || size > bytes_.size() - offset) return std::nullopt;
  ByteCursor cursor(bytes_.subspan(offset, static_cast<std::size_t>(size)));
  const bool extended = cursor.fixed<std::uint32_t>() == kExtendedLength;
  if (extended) cursor.skip(8);
  const std::size_t id_at = offset + cursor.position();
  const std::uint64_t id = cursor.fixed<std::uint32_t>();  // four bytes also after a long length
  if (cursor.failed()) return std::nullopt;
  CfiEntry entry{
      .offset = offset, .body = id_at + 4, .end = offset + static_cast<std::size_t>(size)};
  entry.is_cie = id == 0;
  if (id > id_at) return std::nullopt;  // the distance back from this very field
  entry.cie = id_at - static_cast<std::size_t>(id);
  return entry;
}

std::optional<Cie> CfiSection::parse_cie(const CfiEntry& entry) const noexcept {
  ByteCursor cursor(bytes_.subspan(entry.body, entry.end - entry.body));
  const std::uint8_t version = cursor.u8();
  if (version != 1 && version != 3) return std::nullopt;
  const std::span<const std::byte> text = cursor.rest();
  std::size_t letters = 0;
  while (letters < text.size() && text[letters] != std::byte{0}) ++letters;
  if (letters > kMaxAugmentationLetters) return std::nullopt;
  cursor.skip(letters + 1);
  Cie cie;
  cie.code_alignment = cursor.uleb();
  cie.data_alignment = cursor.sleb();
  const std::uint64_t return_address = version == 1 ? cursor.u8() : cursor.uleb();
  if (return_address != kPcRegister) return std::nullopt;
  if (!parse_augmentation(cursor, text.first(letters), cie)) return std::nullopt;
  if (cursor.failed()) return std::nullopt;
  cie.instructions = cursor.rest();
  return cie;
}

std::optional<Fde> CfiSection::parse_fde(const CfiEntry& entry, const Cie& cie) const noexcept {
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
