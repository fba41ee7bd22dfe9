#include "preload/machine/instruction_aarch64.h"

namespace swipr::machine {

namespace {

// Registers that an instruction names, from the lowest bits on: the first is written, except by
// stores.
enum class Shape : std::uint8_t {
  kNone,
  kOne,
  kTwo,
  kThree,
  kLoadPair,
  kStore,
  kStoreIndexed,
  kStorePair,
};

struct Encoding {
  std::uint32_t mask;
  std::uint32_t value;
  Shape shape;
  bool sets_flags = false;
  bool writes_base = false;
};
// The first that fits.
constexpr Encoding kEncodings[] = {
    {0x1f800000, 0x12800000, Shape::kOne},          // movn, movz, movk
    {0x1f000000, 0x10000000, Shape::kOne},          // adr, adrp
    {0xffffffe0, 0xd53bd040, Shape::kOne},          // mrs from tpidr_el0
    {0x3f800000, 0x11000000, Shape::kTwo},          // add, sub: immediate
    {0x3f800000, 0x31000000, Shape::kTwo, true},    // adds, subs: cmp and cmn, too
    {0x7f800000, 0x72000000, Shape::kTwo, true},    // ands: immediate
    {0x1f800000, 0x12000000, Shape::kTwo},          // and, orr, eor: immediate
    {0x1f800000, 0x13000000, Shape::kTwo},          // sbfm, bfm, ubfm: sxtw, too
    {0x7f000000, 0x6a000000, Shape::kThree, true},  // ands, bics
    {0x1f000000, 0x0a000000, Shape::kThree},        // and, orr, eor …: mov, too
    {0x3f000000, 0x2b000000, Shape::kThree, true},  // adds, subs: registers
    {0x3f000000, 0x0b000000, Shape::kThree},        // add, sub
    {0x3fc00000, 0x39000000, Shape::kStore},        // str and narrower ones, offset without sign
    {0x3f000000, 0x39000000, Shape::kTwo},          // ldr …
    {0x3fe00c00, 0x38000000, Shape::kStore},        // stur …
    {0x3f200c00, 0x38000000, Shape::kTwo},          // ldur …
    {0x3fe00c00, 0x38400400, Shape::kTwo, false, true},        // ldr …, [base], #n
    {0x3fe00c00, 0x38200800, Shape::kStoreIndexed},            // str …, [base, index]
    {0x3f200c00, 0x38200800, Shape::kThree},                   // ldr …, [base, index]
    {0x3fc00000, 0x29000000, Shape::kStorePair},               // stp
    {0x3fc00000, 0x29800000, Shape::kStorePair, false, true},  // stp …, [base, #n]!
    {0x3fc00000, 0x29400000, Shape::kLoadPair},                // ldp
    {0x3fc00000, 0x28c00000, Shape::kLoadPair, false, true},   // ldp …, [base], #n
    {0xffffffff, 0xd503201f, Shape::kNone},                    // nop
    {0xffffffff, 0xd50323bf, Shape::kNone},                    // autiasp
};

constexpr std::uint32_t bit_of(std::uint32_t field) noexcept { return 1u << (field & 31); }

// Sign-extended, in bytes.
constexpr std::int64_t distance(std::uint32_t word, unsigned lowest, unsigned bits) noexcept {
  const auto field = static_cast<std::int32_t>(word << (32 - lowest - bits));
  return std::int64_t{field >> (32 - bits)} * 4;
}

constexpr bool is_jump(std::uint32_t word) noexcept { return (word & 0xfc000000) == 0x14000000; }
constexpr bool tests_flags(std::uint32_t word) noexcept {
  return (word & 0xff000010) == 0x54000000;  // b.cond
}
constexpr bool tests_register(std::uint32_t word) noexcept {
  return (word & 0x7e000000) == 0x34000000;  // cbz, cbnz
}
constexpr bool tests_bit(std::uint32_t word) noexcept {
  return (word & 0x7e000000) == 0x36000000;  // tbz, tbnz
}

// The first register is a vector's: loads and stores of vectors, and what computes with them but
// for what moves or converts from or to general registers.
constexpr bool names_vector(std::uint32_t word) noexcept {
  const bool is_move = (word & 0xbfe0ec00) == 0x0e002c00;  // smov, umov
  const bool converts = (word & 0x5f20fc00) == 0x1e200000 || (word & 0x5f200000) == 0x1e000000;
  return (word & 0x0c000000) == 0x0c000000 && !is_move && !converts;
}

// Loads and stores may write other registers than the first one.
constexpr bool is_pair(std::uint32_t word) noexcept { return (word & 0x3e000000) == 0x28000000; }
constexpr bool is_indexed(std::uint32_t word) noexcept { return (word & 0x3f000400) == 0x38000400; }
// Exclusive ones, compare and swap; copies of memory.
constexpr bool names_four(std::uint32_t word) noexcept {
  return (word & 0x3f000000) == 0x08000000 || (word & 0x3b200c00) == 0x19000400;
}
constexpr bool may_write(unsigned reg, std::uint32_t word) noexcept {
  const bool is_first = (word & 31) == reg;
  const bool is_base = (word >> 5 & 31) == reg;
  const bool is_second = (word >> 10 & 31) == reg;
  const bool is_status = (word >> 16 & 31) == reg;
  if (names_four(word)) return is_first || is_base || is_second || is_status;
  return is_first || (is_pair(word) && (is_base || is_second)) || (is_indexed(word) && is_base);
}

}  // namespace

Instruction decode_instruction(std::uint32_t word) noexcept {
  Instruction out;
  for (const Encoding& each : kEncodings) {
    if ((word & each.mask) != each.value) continue;
    const std::uint32_t first = bit_of(word);
    const std::uint32_t base = bit_of(word >> 5);
    const std::uint32_t second = bit_of(word >> 10);
    out.is_known = true;
    out.sets_flags = each.sets_flags;
    out.stores = each.shape >= Shape::kStore;
    if (each.shape == Shape::kNone) return out;
    out.names = first;
    if (each.shape != Shape::kOne) out.names |= base;
    if (each.shape == Shape::kThree || each.shape == Shape::kStoreIndexed)
      out.names |= bit_of(word >> 16);
    if (!out.stores) out.writes = first;
    if (each.shape == Shape::kLoadPair) out.writes |= second;
    if (each.shape == Shape::kStorePair) out.names |= second;
    if (each.writes_base) out.writes |= base;
    out.names |= out.writes;
    return out;
  }
  return out;
}

std::uint64_t branch_target(std::uint32_t word, std::uint64_t address) noexcept {
  constexpr unsigned kConditionAt = 5;
  const auto from = [address](std::int64_t bytes) noexcept {
    return address + static_cast<std::uint64_t>(bytes);
  };
  if (is_jump(word)) return from(distance(word, 0, 26));
  if (tests_flags(word) || tests_register(word)) return from(distance(word, kConditionAt, 19));
  return tests_bit(word) ? from(distance(word, kConditionAt, 14)) : 0;
}

bool is_conditional_branch(std::uint32_t word) noexcept {
  return tests_flags(word) || tests_register(word) || tests_bit(word);
}

unsigned tested_register(std::uint32_t word) noexcept {
  return tests_flags(word) ? 31u : word & 31u;
}

// The first register is the stack pointer, or the base register is and changes: add and sub of a
// constant or an extended register, and, orr and eor of a constant, with tags or by the length of
// vectors, too; pairs, single registers and tags with the base before or behind the access, and
// structures of vectors behind it.
bool writes_stack_pointer(std::uint32_t word) noexcept {
  constexpr std::uint32_t kStack = 31;
  if ((word & 31) == kStack) {
    const bool is_logical = (word & 0x1f800000) == 0x12000000;
    const bool sets_flags = (word & 0x60000000) == 0x60000000;
    const bool tags = (word & 0xbfc0c000) == 0x91800000 || (word & 0xffe0fc00) == 0x9ac01000;
    const bool adds_vectors = (word & 0xffa0f000) == 0x04205000;
    if ((word & 0x3f800000) == 0x11000000 || (word & 0x3fe00000) == 0x0b200000) return true;
    if (tags || adds_vectors || (is_logical && !sets_flags)) return true;
  }
  const bool moves_base = (word & 0x3a800000) == 0x28800000 || (word & 0x3b200400) == 0x38000400;
  const bool is_structure = (word & 0xbe800000) == 0x0c800000;  // ld1, st1 … [sp], #n
  const bool stores_tag = (word & 0xff200400) == 0xd9200400;
  return (word >> 5 & 31) == kStack && (moves_base || is_structure || stores_tag);
}

std::int64_t stack_bytes_taken(std::uint32_t word) noexcept {
  struct Form {
    std::uint32_t mask;
    std::uint32_t value;
    unsigned at;      // of the number's lowest bit
    unsigned length;  // in bits
    int unit;         // in bytes; negative: the number is added to sp
    bool has_sign;
  };
  constexpr Form kForms[] = {
      {0xffc003ff, 0xd10003ff, 10, 12, 1, false},      // sub sp, sp, #n
      {0xffc003ff, 0xd14003ff, 10, 12, 4096, false},   // sub sp, sp, #n, lsl #12
      {0xffc003ff, 0x910003ff, 10, 12, -1, false},     // add sp, sp, #n
      {0xffc003ff, 0x914003ff, 10, 12, -4096, false},  // add sp, sp, #n, lsl #12
      {0xfe8003e0, 0xa88003e0, 15, 7, -8, true},       // stp, ldp x, x, [sp, #n]! or [sp], #n
      {0xfe8003e0, 0x6c8003e0, 15, 7, -8, true},       // … d, d
      {0xfe8003e0, 0xac8003e0, 15, 7, -16, true},      // … q, q
      {0xffa007e0, 0xf80007e0, 12, 9, -1, true},       // str, ldr x, [sp, #n]! or [sp], #n
      {0xffa007e0, 0xfc0007e0, 12, 9, -1, true},       // … d
      {0xffa007e0, 0x3c8007e0, 12, 9, -1, true},       // … q
  };
  for (const Form& form : kForms) {
    if ((word & form.mask) != form.value) continue;
    const std::int64_t number = word >> form.at & ((1u << form.length) - 1);
    const std::int64_t sign = form.has_sign ? std::int64_t{1} << (form.length - 1) : 0;
    return ((number ^ sign) - sign) * form.unit;
  }
  return 0;
}

bool keeps_link(std::uint32_t word) noexcept {
  constexpr std::uint32_t kLink = 30;
  const bool is_call = word >> 26 == 0x25 || (word & 0xfefff000) == 0xd63f0000;  // bl, blr, blraa …
  if (is_call) return false;
  const Instruction known = decode_instruction(word);
  if (known.is_known) return (known.writes >> kLink & 1) == 0;
  // Branches have other fields there, and hints none.
  return is_jump(word) || is_conditional_branch(word) ||
         (names_vector(word) && !names_four(word)) || !may_write(kLink, word);
}

bool keeps_return_address(std::uint32_t word) noexcept {
  return keeps_link(word) && !writes_stack_pointer(word);
}

bool ends_leaf(std::uint32_t word) noexcept {
  const bool is_return = word == 0xd65f03c0 || (word & 0xfffffbff) == 0xd65f0bff;  // retaa, retab
  return is_return || (word & 0xffffffdf) == 0xd61f0200;                           // br x16, br x17
}

bool is_call_or_return(std::uint32_t word) noexcept {
  // bl; blr, blraa …; ret, retaa …
  return (word & 0xfc000000) == 0x94000000 || (word & 0xfefff000) == 0xd63f0000 ||
         (word & 0xfffff000) == 0xd65f0000;
}

bool is_trap(std::uint32_t word) noexcept {
  return (word & 0xffe0001f) == 0xd4200000 || (word & 0xffff0000) == 0;  // brk, udf
}

}  // namespace swipr::machine
