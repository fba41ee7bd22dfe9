#include "preload/machine/instruction_x86_64.h"

#include <cstring>

namespace swipr::machine {

namespace {

enum class Map : std::uint8_t { kOne, kTwo0f, kThree38, kThree3a, kXop9, kXopA };

// Prefixes and the opcode's place.
struct Head {
  std::size_t opcode_at = 0;
  std::size_t prefix_bytes = 0;
  Map map = Map::kOne;
  bool is_vex = false;
  bool is_wide = false;  // REX.W
  bool extends_operand = false;
  bool has_16_bits = false;  // operand size prefix
  bool has_32_address = false;
};

struct Tail {
  bool has_modrm = false;
  std::size_t immediate_bytes = 0;
};

constexpr bool is_in(std::uint8_t value, std::uint8_t first, std::uint8_t last) noexcept {
  return value >= first && value <= last;
}

bool is_legacy_prefix(std::uint8_t byte) noexcept {
  switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return false;
  }
}

Map map_of_number(unsigned number) noexcept {
  return number == 2 ? Map::kThree38 : number == 3 ? Map::kThree3a : Map::kTwo0f;
}

// AMD's XOP shares its first byte with POP, whose ModRM.reg is 0; maps begin at 8.
// Source: AMD64 APM volume 6, section 2.2.
Map map_of_xop(unsigned number) noexcept {
  return number == 8 ? Map::kThree3a : number == 9 ? Map::kXop9 : Map::kXopA;
}

// False: truncated.
bool read_head(std::span<const std::uint8_t> code, Head& head) noexcept {
  std::size_t at = 0;
  // A REX that is not the last prefix has no effect.
  const auto is_rex = [&](std::size_t place) { return (code[place] & 0xf0) == 0x40; };
  const auto is_prefix = [&](std::size_t place) {
    return is_legacy_prefix(code[place]) ||
           (is_rex(place) && (is_rex(place + 1) || is_legacy_prefix(code[place + 1])));
  };
  for (; at + 1 < code.size() && is_prefix(at); ++at) {
    head.has_16_bits = head.has_16_bits || code[at] == 0x66;
    head.has_32_address = head.has_32_address || code[at] == 0x67;
  }
  if (at + 5 > code.size()) return false;  // longer ones are not used below
  head.prefix_bytes = at;
  if (code[at] == 0x8f && (code[at + 1] & 31u) >= 8) {
    head.is_vex = true;
    head.map = map_of_xop(code[at + 1] & 31u);
    head.opcode_at = at + 3;
    return true;
  }
  if (code[at] == 0xc5 || code[at] == 0xc4 || code[at] == 0x62) {
    const bool is_evex = code[at] == 0x62;
    head.is_vex = true;
    head.map = code[at] == 0xc5 ? Map::kTwo0f : map_of_number(code[at + 1] & (is_evex ? 7u : 31u));
    head.opcode_at = at + (code[at] == 0xc5 ? 2 : is_evex ? 4 : 3);
    return true;
  }
  if (is_rex(at)) {
    head.is_wide = (code[at] & 8) != 0;
    head.extends_operand = (code[at] & 1) != 0;
    ++at;
  }
  if (code[at] == 0x0f) {
    ++at;
    head.map = code[at] == 0x38 ? Map::kThree38 : code[at] == 0x3a ? Map::kThree3a : Map::kTwo0f;
    if (head.map != Map::kTwo0f) ++at;
  }
  head.opcode_at = at;
  return true;
}

Tail tail_of_0f(std::uint8_t opcode) noexcept {
  if (is_in(opcode, 0x80, 0x8f)) return {.immediate_bytes = 4};
  const bool stands_alone = is_in(opcode, 0x05, 0x09) || opcode == 0x0b || opcode == 0x0e ||
                            is_in(opcode, 0x30, 0x37) || opcode == 0x77 ||
                            is_in(opcode, 0xa0, 0xa2) || is_in(opcode, 0xa8, 0xaa) ||
                            is_in(opcode, 0xc8, 0xcf);
  if (stands_alone) return {};
  const bool has_byte = opcode == 0x0f || is_in(opcode, 0x70, 0x73) || opcode == 0xa4 ||
                        opcode == 0xac || opcode == 0xba || opcode == 0xc2 ||
                        is_in(opcode, 0xc4, 0xc6);
  return {.has_modrm = true, .immediate_bytes = has_byte ? 1u : 0u};
}

// Of opcodes 40 to BF and of the arithmetic below them. `full`: bytes of a full immediate.
Tail tail_of_lower(std::uint8_t opcode, const Head& head, std::size_t full) noexcept {
  if (opcode < 0x40) {
    const unsigned form = opcode & 7;
    return {.has_modrm = form < 4, .immediate_bytes = form == 4 ? 1 : form == 5 ? full : 0};
  }
  switch (opcode) {
    case 0x63:
      return {.has_modrm = true};
    case 0x68:
    case 0xa9:
      return {.immediate_bytes = full};
    case 0x69:
    case 0x81:
      return {.has_modrm = true, .immediate_bytes = full};
    case 0x6a:
    case 0xa8:
      return {.immediate_bytes = 1};
    case 0x6b:
    case 0x80:
    case 0x83:
      return {.has_modrm = true, .immediate_bytes = 1};
    default:
      break;
  }
  if (is_in(opcode, 0x70, 0x7f) || is_in(opcode, 0xb0, 0xb7)) return {.immediate_bytes = 1};
  if (is_in(opcode, 0x84, 0x8f)) return {.has_modrm = true};
  if (is_in(opcode, 0xa0, 0xa3)) return {.immediate_bytes = head.has_32_address ? 4u : 8u};
  if (is_in(opcode, 0xb8, 0xbf)) return {.immediate_bytes = head.is_wide ? 8 : full};
  return {};
}

Tail tail_of_upper(std::uint8_t opcode, std::uint8_t modrm, std::size_t full) noexcept {
  const bool tests = (modrm & 0x38) <= 0x08;  // F6, F7: TEST alone has an immediate
  switch (opcode) {
    case 0xc0:
    case 0xc1:
    case 0xc6:
      return {.has_modrm = true, .immediate_bytes = 1};
    case 0xc2:
    case 0xca:
      return {.immediate_bytes = 2};
    case 0xc7:
      return {.has_modrm = true, .immediate_bytes = full};
    case 0xc8:
      return {.immediate_bytes = 3};
    case 0xcd:
    case 0xeb:
      return {.immediate_bytes = 1};
    case 0xe8:
    case 0xe9:
      return {.immediate_bytes = 4};
    case 0xf6:
      return {.has_modrm = true, .immediate_bytes = tests ? 1u : 0u};
    case 0xf7:
      return {.has_modrm = true, .immediate_bytes = tests ? full : 0u};
    case 0xfe:
    case 0xff:
      return {.has_modrm = true};
    default:
      break;
  }
  if (is_in(opcode, 0xe0, 0xe7)) return {.immediate_bytes = 1};
  return {.has_modrm = is_in(opcode, 0xd0, 0xd3) || is_in(opcode, 0xd8, 0xdf)};
}

Tail tail_of(const Head& head, std::uint8_t opcode, std::uint8_t modrm) noexcept {
  if (head.map == Map::kThree38) return {.has_modrm = true};
  if (head.map == Map::kThree3a) return {.has_modrm = true, .immediate_bytes = 1};
  if (head.map == Map::kXop9) return {.has_modrm = true};
  if (head.map == Map::kXopA) return {.has_modrm = true, .immediate_bytes = 4};
  if (head.is_vex) {
    const bool is_upper_clear = opcode == 0x77;
    const bool has_byte = is_in(opcode, 0x70, 0x73) || opcode == 0xc2 || is_in(opcode, 0xc4, 0xc6);
    return {.has_modrm = !is_upper_clear, .immediate_bytes = has_byte ? 1u : 0u};
  }
  if (head.map == Map::kTwo0f) return tail_of_0f(opcode);
  const std::size_t full = head.has_16_bits && !head.is_wide ? 2 : 4;
  return opcode < 0xc0 ? tail_of_lower(opcode, head, full) : tail_of_upper(opcode, modrm, full);
}

struct Operand {
  std::size_t bytes = 1;  // ModRM, SIB and displacement
  std::size_t displacement_bytes = 0;
};

Operand operand_of(std::uint8_t modrm, std::uint8_t sib) noexcept {
  Operand operand;
  const unsigned mode = modrm >> 6;
  const unsigned base = modrm & 7;
  if (mode == 3) return operand;
  const bool has_sib = base == 4;
  const unsigned real_base = has_sib ? sib & 7u : base;
  operand.displacement_bytes = mode == 1 ? 1 : mode == 2 || real_base == 5 ? 4 : 0;
  operand.bytes += (has_sib ? 1 : 0) + operand.displacement_bytes;
  return operand;
}

std::int32_t load_signed(const std::uint8_t* at, std::size_t bytes) noexcept {
  if (bytes == 1) return static_cast<std::int8_t>(*at);
  std::int32_t value = 0;
  if (bytes == 4) std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

Instruction decode_instruction(std::span<const std::uint8_t> code) noexcept {
  // Bounds reads past the end once, here: the longest instruction has 15 bytes.
  constexpr std::size_t kLongest = 15;
  if (code.size() < kLongest) return {};
  Head head;
  if (!read_head(code.first(kLongest), head) || head.opcode_at + 3 > kLongest) return {};
  const std::uint8_t* const opcode = code.data() + head.opcode_at;
  const Tail tail = tail_of(head, opcode[0], opcode[1]);
  Instruction out;
  std::size_t end = head.opcode_at + 1;
  if (tail.has_modrm) {
    const Operand operand = operand_of(opcode[1], opcode[2]);
    end += operand.bytes;
    if (end > kLongest) return {};
    out.modrm = opcode[1];
    out.displacement =
        load_signed(code.data() + end - operand.displacement_bytes, operand.displacement_bytes);
    out.is_rip_relative = (opcode[1] & 0xc7) == 0x05;
    out.displacement_at = static_cast<std::uint8_t>(end - operand.displacement_bytes);
  }
  if (end + tail.immediate_bytes > kLongest) return {};
  out.immediate = load_signed(code.data() + end, tail.immediate_bytes);
  out.bytes = end + tail.immediate_bytes;
  out.opcode = opcode[0];
  out.is_plain = head.map == Map::kOne && !head.is_vex;
  out.is_second = head.map == Map::kTwo0f && !head.is_vex;
  out.extends_operand = head.extends_operand;
  out.prefix_bytes = static_cast<std::uint8_t>(head.prefix_bytes);
  return out;
}

bool is_relative_branch(const Instruction& instruction) noexcept {
  const std::uint8_t opcode = instruction.opcode;
  if (instruction.is_second) return is_in(opcode, 0x80, 0x8f);
  if (!instruction.is_plain) return false;
  constexpr std::uint8_t kXbegin = 0xf8;
  return is_in(opcode, 0x70, 0x7f) || is_in(opcode, 0xe0, 0xe3) || opcode == 0xe8 ||
         opcode == 0xe9 || opcode == 0xeb || (opcode == 0xc7 && instruction.modrm == kXbegin);
}

bool ends_straight_code(const Instruction& instruction) noexcept {
  const std::uint8_t opcode = instruction.opcode;
  if (instruction.is_second) return is_in(opcode, 0x80, 0x8f);
  if (!instruction.is_plain) return false;
  const unsigned extension = instruction.modrm >> 3 & 7;
  return is_in(opcode, 0x70, 0x7f) || opcode == 0xc2 || opcode == 0xc3 ||
         is_in(opcode, 0xe0, 0xe3) || opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb ||
         (opcode == 0xff && is_in(static_cast<std::uint8_t>(extension), 2, 5));
}

std::int64_t stack_bytes_taken(const Instruction& instruction,
                               std::span<const std::uint8_t> code) noexcept {
  constexpr std::int64_t kWord = 8;
  constexpr std::uint8_t kSubRsp = 0xec, kAddRsp = 0xc4, kPush = 6;
  if (!instruction.is_plain) return 0;
  const std::uint8_t opcode = instruction.opcode;
  if (is_in(opcode, 0x50, 0x57) || opcode == 0x68 || opcode == 0x6a) return kWord;
  if (is_in(opcode, 0x58, 0x5f)) return -kWord;
  if (opcode == 0xff && (instruction.modrm >> 3 & 7) == kPush) return kWord;
  if (instruction.extends_operand) return 0;
  if (opcode == 0x81 || opcode == 0x83) {
    if (instruction.modrm == kSubRsp) return instruction.immediate;
    return instruction.modrm == kAddRsp ? -instruction.immediate : 0;
  }
  // lea n(%rsp),%rsp
  const bool is_lea_rsp =
      opcode == 0x8d && (instruction.modrm & 0x3f) == 0x24 && code[0] == 0x48 && code[3] == 0x24;
  return is_lea_rsp ? -std::int64_t{instruction.displacement} : 0;
}

}  // namespace swipr::machine
