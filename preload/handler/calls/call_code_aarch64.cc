#include "preload/handler/calls/call_code_aarch64.h"

#include <array>

#include "preload/machine/instruction_aarch64.h"
#include "preload/unwind/base/registers.h"
#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::handler {

namespace {

constexpr std::uint64_t kBytes = unwind::kSyscallBytes;  // of every instruction
constexpr unsigned kNoRegister = 32;

// Of the function that the thread executes: unmapping it would crash the thread in any case.
class Code {
 public:
  // 0, which is no instruction: unreadable.
  std::uint32_t at(std::uint64_t address) noexcept {
    std::uint64_t words = 0;
    if (!reader_.read_word(address & -sizeof words, words)) return 0;
    return static_cast<std::uint32_t>(address % sizeof words == 0 ? words : words >> 32);
  }

 private:
  unwind::PageProbeReader reader_;
};

// Where an argument comes from: a register and a constant that is added to it.
struct Origin {
  unsigned base = kNoRegister;  // 31: sp. kNoRegister: a constant
  std::uint64_t offset = 0;
  bool is_signed_word = false;  // sxtw
  bool is_word = false;         // upper half zero
  bool is_loaded = false;       // from the stack, at that address
};

// False: another instruction.
bool decode_origin(std::uint32_t word, Origin& out) noexcept {
  const unsigned source = word >> 5 & 31;
  const bool is_wide = word >> 31 != 0;
  out.is_word = !is_wide;
  if ((word & 0x7fe0ffe0) == 0x2a0003e0) {  // mov from a register
    out.base = word >> 16 & 31;
    return out.base != 31;
  }
  if ((word & 0x1f800000) == 0x12800000) {  // movz, movn
    const std::uint64_t value = std::uint64_t{word >> 5 & 0xffff} << (word >> 21 & 3) * 16;
    const bool is_negated = (word & 0x60000000) == 0;
    out.offset = is_negated ? ~value : value;
    return is_negated || (word & 0x60000000) == 0x40000000;
  }
  if ((word & 0x3f800000) == 0x11000000) {  // add, sub: also mov from sp
    const std::uint64_t value = std::uint64_t{word >> 10 & 0xfff} << ((word >> 22 & 1) * 12);
    out.base = source;
    out.offset = (word & 0x40000000) != 0 ? std::uint64_t{0} - value : value;
    return true;
  }
  if ((word & 0xfffffc00) == 0x93407c00) {  // sxtw
    out.base = source;
    out.is_signed_word = true;
    return source != 31;
  }
  if ((word & 0xbfc00000) == 0xb9400000) {  // ldr
    out.base = source;
    out.offset = std::uint64_t{word >> 10 & 0xfff} * 4;
    out.is_loaded = true;
    out.is_word = (word & 0x40000000) == 0;
    if (!out.is_word) out.offset *= 2;
    return source == 31;  // other memory may have changed
  }
  return false;
}

std::uint64_t register_of(const ucontext_t& context, unsigned number) noexcept {
  if (number == kNoRegister) return 0;
  return number == 31 ? context.uc_mcontext.sp : context.uc_mcontext.regs[number];
}

bool evaluate(const ucontext_t& context, const Origin& origin, std::uint64_t& out) noexcept {
  out = register_of(context, origin.base) + origin.offset;
  if (origin.is_loaded) {
    unwind::PageProbeReader reader;
    if (!reader.read_word(out, out)) return false;
  }
  if (origin.is_signed_word) {
    out = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(out)});
  }
  if (origin.is_word) out &= 0xffff'ffff;
  return true;
}

// A direct branch in the page of `last` leads to (first, last].
bool is_jumped_into(Code& code, std::uint64_t first, std::uint64_t last) noexcept {
  const std::uint64_t page = last & -unwind::kPageBytes;
  for (std::uint64_t at = page; at != page + unwind::kPageBytes; at += kBytes) {
    const std::uint64_t target = machine::branch_target(code.at(at), at);
    if (target > first && target <= last) return true;
  }
  return false;
}

// Of the first argument of the call before `pc`.
bool find_origin(Code& code, std::uint64_t pc, Origin& out) noexcept {
  constexpr std::uint32_t kX0 = 1;
  std::uint64_t at = pc - kBytes;
  std::uint32_t written = 0;
  bool stores = false;
  for (unsigned step = 0; step < kStraightInstructions; ++step) {
    at -= kBytes;
    const std::uint32_t word = code.at(at);
    const machine::Instruction instruction = machine::decode_instruction(word);
    if (!instruction.is_known) return false;
    if ((instruction.writes & kX0) == 0) {
      written |= instruction.writes;
      stores = stores || instruction.stores;
      continue;
    }
    if ((word & 31) != 0 || !decode_origin(word, out)) return false;
    const bool is_kept =
        out.base == kNoRegister || (out.base != 0 && (written >> out.base & 1) == 0);
    if (!is_kept || (out.is_loaded && stores)) return false;
    return !is_jumped_into(code, at, pc);
  }
  return false;
}

// Ways that code may take, each until it is known what becomes of a register.
class Ways {
 public:
  explicit Ways(std::uint64_t begin) noexcept { places_[count_++] = begin; }
  bool next(std::uint64_t& out) noexcept {
    if (count_ == 0) return false;
    out = places_[--count_];
    return true;
  }
  bool add(std::uint64_t place) noexcept {
    if (count_ == places_.size()) return false;
    places_[count_++] = place;
    return true;
  }

 private:
  std::array<std::uint64_t, 8> places_{};
  std::size_t count_ = 0;
};

// Before the next call or return no instruction names one of the registers. Instructions that are
// not known may name all.
bool leaves_alone(std::uint64_t pc, std::uint32_t registers) noexcept {
  Code code;
  Ways ways(pc);
  std::uint64_t at = 0;
  unsigned left = kFollowedInstructions;
  while (ways.next(at)) {
    for (std::uint32_t word = code.at(at); !machine::is_call_or_return(word); word = code.at(at)) {
      if (left-- == 0) return false;
      const std::uint64_t target = machine::branch_target(word, at);
      at += kBytes;
      if (target == 0) {
        const machine::Instruction instruction = machine::decode_instruction(word);
        if (!instruction.is_known || (instruction.names & registers) != 0) return false;
      } else if (!machine::is_conditional_branch(word)) {
        at = target;
      } else if ((registers >> machine::tested_register(word) & 1) != 0 || !ways.add(target)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

bool is_behind_call(const ucontext_t& context) noexcept {
  return Code().at(context.uc_mcontext.pc - kBytes) == machine::kSvc;
}
bool is_at_call(const ucontext_t& context) noexcept {
  return Code().at(context.uc_mcontext.pc) == machine::kSvc;
}

bool find_first_argument(const ucontext_t& context, std::uint64_t& out) noexcept {
  Code code;
  Origin origin;
  return find_origin(code, context.uc_mcontext.pc, origin) && evaluate(context, origin, out);
}

bool makes_known_call(std::uint64_t function) noexcept {
  Code code;
  Origin origin;
  std::uint64_t at = function;
  for (unsigned step = 0; step < kFollowedInstructions; ++step, at += kBytes) {
    const std::uint32_t word = code.at(at);
    if (word == machine::kSvc) return find_origin(code, at + kBytes, origin);
    const bool goes_on =
        machine::is_conditional_branch(word) || machine::branch_target(word, at) == 0;
    if (!goes_on || machine::is_call_or_return(word)) return false;
  }
  return false;
}

bool ignores_flags(std::uint64_t pc) noexcept {
  Code code;
  for (unsigned step = 0; step < kFollowedInstructions; ++step, pc += kBytes) {
    const std::uint32_t word = code.at(pc);
    if (machine::is_call_or_return(word)) return true;
    const machine::Instruction instruction = machine::decode_instruction(word);
    if (!instruction.is_known) return false;
    if (instruction.sets_flags) return true;
  }
  return false;
}

bool ignores_scratch(std::uint64_t pc) noexcept {
  constexpr std::uint32_t kScratch = 1u << 16 | 1u << 17;
  return leaves_alone(pc, kScratch);
}

}  // namespace swipr::handler
