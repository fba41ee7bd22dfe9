// Tokens that have the addresses of a function's names instead of that of the function, which may
// be gone before they are: PHP and Perl.
// Context: anywhere, signal handlers included.  Pure.
#pragma once

#include <cstdint>

#include "common/core/runtime_frame.h"
#include "preload/runtimes/token.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::runtimes {

// Of a function; addresses of texts, or of objects that lead to them.
struct PackedNames {
  std::uint64_t name = 0;        // 0: code of a file, outside its functions
  std::uint64_t class_name = 0;  // 0: of no class
  std::uint64_t file = 0;        // 0: built in
  std::uint32_t first_line = 0;  // at most kMaxRuntimeLine, else 0

  bool operator==(const PackedNames&) const = default;
};

// A token has 44 or 45 bits for each address, which are a multiple of 8 below 2^47 or 2^48, 20 for
// the line and what is left for the hash: 40 or 37.
inline constexpr unsigned kPackedAddressBits = unwind::kUserAddressBits - 3;
inline constexpr unsigned kPackedRestBits = 64 - kPackedAddressBits;  // beside an address
inline constexpr unsigned kPackedLineBits = 20;
inline constexpr unsigned kPackedClassAt =
    64 - (kPackedAddressBits - kPackedRestBits);  // its upper bits
inline constexpr unsigned kPackedHashBits = kPackedClassAt - (kPackedLineBits - kPackedRestBits);
static_assert(kMaxRuntimeLine < 1u << kPackedLineBits && kPackedRestBits <= kPackedLineBits);

constexpr std::uint64_t low_bits(std::uint64_t value, unsigned count) noexcept {
  return value & ((std::uint64_t{1} << count) - 1);
}
// `hash`: made of what the names say, by which other texts at their addresses are recognised.
// False: an address is none.
constexpr bool pack_names(const PackedNames& names, std::uint64_t hash, Token& out) noexcept {
  if (((names.name | names.class_name | names.file) &
       ~(low_bits(~0ull, kPackedAddressBits) << 3)) != 0)
    return false;
  const std::uint64_t class_name = names.class_name >> 3;
  const std::uint64_t line = names.first_line;
  out.code = names.name >> 3 | line << kPackedAddressBits;        // its lower bits
  out.mark = names.file >> 3 | class_name << kPackedAddressBits;  // likewise
  out.fingerprint = class_name >> kPackedRestBits << kPackedClassAt |
                    line >> kPackedRestBits << kPackedHashBits | low_bits(hash, kPackedHashBits);
  return true;
}
constexpr PackedNames unpack_names(const Token& token) noexcept {
  const std::uint64_t class_name =
      token.mark >> kPackedAddressBits | token.fingerprint >> kPackedClassAt << kPackedRestBits;
  const std::uint64_t line =
      token.code >> kPackedAddressBits |
      low_bits(token.fingerprint >> kPackedHashBits, kPackedLineBits - kPackedRestBits)
          << kPackedRestBits;
  return {.name = low_bits(token.code, kPackedAddressBits) << 3,
          .class_name = class_name << 3,
          .file = low_bits(token.mark, kPackedAddressBits) << 3,
          .first_line = static_cast<std::uint32_t>(line)};
}

constexpr std::uint64_t mix_hash(std::uint64_t hash, std::uint64_t value) noexcept {
  constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
  return ((hash << 23 | hash >> 41) ^ value) * kOdd;
}

}  // namespace swipr::runtimes
