#include "preload/unwind/cfi/cfi_section.h"

#include "common/core/byte_cursor.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/cfi/encoded_pointer.h"

namespace swipr::unwind {
namespace {

constexpr std::size_t kMaxAugmentationLetters = 16;

// "z" and the letters that describe its data. False: a letter whose data has unknown size.
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

std::optional<Cie> CfiSection::parse_cie(const CfiEntry& entry) const noexcept {
  ByteCursor cursor(bytes_.subspan(entry.body, entry.end - entry.body));
  const std::uint8_t version = cursor.u8();
  if (version != 1 && version != 3 && (version != 4 || format_ == CfiFormat::kEhFrame)) {
    return std::nullopt;
  }
  const std::span<const std::byte> text = cursor.rest();
  std::size_t letters = 0;
  while (letters < text.size() && text[letters] != std::byte{0}) ++letters;
  if (letters > kMaxAugmentationLetters) return std::nullopt;
  cursor.skip(letters + 1);
  // DWARF 4 and later name the sizes of an address and of a segment selector.
  if (version == 4 && (cursor.u8() != sizeof(std::uint64_t) || cursor.u8() != 0)) {
    return std::nullopt;
  }
  Cie cie;
  cie.code_alignment = cursor.uleb();
  cie.data_alignment = cursor.sleb();
  const std::uint64_t return_address = version == 1 ? cursor.u8() : cursor.uleb();
  if (!is_return_column(return_address)) return std::nullopt;
  if (!parse_augmentation(cursor, text.first(letters), cie)) return std::nullopt;
  if (cursor.failed()) return std::nullopt;
  cie.instructions = cursor.rest();
  return cie;
}

}  // namespace swipr::unwind
