#include "preload/machine/operands_aarch64.h"

namespace swipr::machine {

namespace {

constexpr std::uint32_t register_at(std::uint32_t word, unsigned lowest) noexcept {
  return 1u << (word >> lowest & 31);
}

// Branches, exceptions, system.
std::uint32_t read_by_branch(std::uint32_t word) noexcept {
  if ((word & 0x7c000000) == 0x34000000) return register_at(word, 0);   // cbz, tbz …
  if ((word & 0xfe000000) == 0xd6000000) return register_at(word, 5);   // br, blr, ret …
  if ((word & 0xfff00000) == 0xd5100000) return register_at(word, 0);   // msr
  return (word & 0xfff80000) == 0xd5080000 ? register_at(word, 0) : 0;  // sys
}

std::uint32_t read_by_immediate(std::uint32_t word) noexcept {
  switch (word >> 23 & 7) {
    case 0:  // adr, adrp
    case 1:
      return 0;
    case 5:  // movk; movn and movz read nothing
      return (word >> 29 & 3) == 3 ? register_at(word, 0) : 0;
    case 6:  // bfm reads the first, too
      return register_at(word, 5) | ((word >> 29 & 3) == 1 ? register_at(word, 0) : 0);
    case 7:  // extr
      return register_at(word, 5) | register_at(word, 16);
    default:
      return register_at(word, 5);
  }
}

std::uint32_t read_by_access(std::uint32_t word) noexcept {
  if ((word & 0x3b000000) == 0x18000000) return 0;  // literal
  const bool is_vector = (word >> 26 & 1) != 0;
  const bool is_pair = (word & 0x3a000000) == 0x28000000;
  const bool loads = is_pair ? (word >> 22 & 1) != 0 : (word >> 22 & 3) != 0;
  const bool is_register_offset = (word & 0x3b200c00) == 0x38200800;
  const bool is_atomic = (word & 0x3b200c00) == 0x38200000;
  const bool is_exclusive = (word & 0x3f000000) == 0x08000000;
  std::uint32_t read = register_at(word, 5);
  if (is_exclusive) {
    const bool loads_exclusive = (word >> 22 & 1) != 0 && (word >> 21 & 1) == 0;
    return read | (loads_exclusive ? 0
                                   : register_at(word, 0) | register_at(word, 10) |
                                         ((word >> 21 & 1) != 0 ? register_at(word, 16) : 0));
  }
  if (is_register_offset || is_atomic) read |= register_at(word, 16);
  if (is_vector || (loads && !is_atomic)) return read;
  if (!is_atomic) read |= register_at(word, 0);
  return is_pair ? read | register_at(word, 10) : read;
}

std::uint32_t read_by_registers(std::uint32_t word) noexcept {
  std::uint32_t read = register_at(word, 5);
  const bool is_one_source = (word & 0x5fe00000) == 0x5ac00000;
  const bool has_constant = (word & 0x1fe00800) == 0x1a400800;  // ccmp, immediate
  if (!is_one_source && !has_constant) read |= register_at(word, 16);
  if ((word & 0x1f000000) == 0x1b000000) read |= register_at(word, 10);  // madd …
  return read;
}

}  // namespace

std::uint32_t registers_read(std::uint32_t word) noexcept {
  switch (word >> 25 & 15) {
    case 8:
    case 9:
      return read_by_immediate(word);
    case 10:
    case 11:
      return read_by_branch(word);
    case 4:
    case 6:
    case 12:
    case 14:
      return read_by_access(word);
    case 5:
    case 13:
      return read_by_registers(word);
    default:
      return 0;  // vectors, reserved
  }
}

}  // namespace swipr::machine
