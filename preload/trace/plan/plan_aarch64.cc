#include <algorithm>
#include <cstring>

#include "preload/machine/instruction_aarch64.h"
#include "preload/machine/operands_aarch64.h"
#include "preload/trace/plan/branches.h"
#include "preload/trace/plan/code_words.h"
#include "preload/trace/plan/landing.h"
#include "preload/trace/plan/plan.h"
#include "preload/trace/plan/return_address.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::trace {

namespace {

using machine::kInstructionBytes;

enum class Kind : std::uint8_t {
  kPlain,        // can be executed elsewhere
  kAddress,      // adr, adrp: becomes a load of the address
  kLoad,         // of a literal: becomes a load of its address, and one from there
  kConditional,  // becomes the same around two jumps
  kJump,
  kEnd,  // return or indirect jump: nothing is executed behind it
  kSystemCall,
  kUnmovable,
};

constexpr bool is_in(std::uint32_t word, std::uint32_t mask, std::uint32_t value) noexcept {
  return (word & mask) == value;
}

// Source: Arm ARM, C4.1. Neither literals of vectors, for whose address there is no register, nor
// signatures by the pc, nor parts of a sequence that the kernel may restart (memory copies), nor
// what a handler of the program may look at.
bool is_unmovable(std::uint32_t word) noexcept {
  constexpr std::uint32_t kNoRegister = 31;
  if ((word >> 16) == 0) return true;                                             // udf
  if (is_in(word, 0xff000000, 0xd4000000) && word != machine::kSvc) return true;  // brk, hvc …
  if (is_in(word, 0xfc000000, 0x94000000)) return true;                           // bl
  if (is_in(word, 0xfe000000, 0xd6000000) && (word >> 21 & 15) != 2 && (word >> 21 & 15) != 0 &&
      (word >> 21 & 15) != 8) {
    return true;  // blr, eret, drps
  }
  if (is_in(word, 0x3b200c00, 0x19000400)) return true;    // cpyfp …
  if (is_in(word, 0xffffdbff, 0xdac183fe)) return true;    // paciasppc …
  if (is_in(word, 0xff800000, 0xf3800000)) return true;    // autiasppc
  if (is_in(word, 0xff000000, 0x55000000)) return true;    // retaasppc
  if (is_in(word, 0xff000010, 0x54000010)) return true;    // bc.cond
  if (is_in(word, 0x7e000000, 0x74000000)) return true;    // cb.cond
  if (!is_in(word, 0x3b000000, 0x18000000)) return false;  // literals
  return is_in(word, 0x04000000, 0x04000000) || word >> 30 == 3 || (word & 31) == kNoRegister;
}

Kind kind_of(std::uint32_t word) noexcept {
  if (word == machine::kSvc) return Kind::kSystemCall;
  if (is_unmovable(word)) return Kind::kUnmovable;
  if (is_in(word, 0x1f000000, 0x10000000)) return Kind::kAddress;
  if (is_in(word, 0x3b000000, 0x18000000)) return Kind::kLoad;
  if (machine::is_conditional_branch(word)) return Kind::kConditional;
  if (is_in(word, 0xfc000000, 0x14000000)) return Kind::kJump;
  return is_in(word, 0xfe000000, 0xd6000000) ? Kind::kEnd : Kind::kPlain;
}

std::size_t words_in_copy(Kind kind) noexcept {
  if (kind == Kind::kLoad) return 2;
  return kind == Kind::kConditional ? 3 : 1;
}

constexpr bool falls_through(Kind kind) noexcept {
  return kind != Kind::kJump && kind != Kind::kEnd;
}

std::int64_t literal_distance(std::uint32_t word) noexcept {
  return std::int64_t{static_cast<std::int32_t>(word << 8) >> 13} * 4;
}

std::uint64_t address_of_adr(std::uint32_t word, std::uint64_t pc) noexcept {
  if (word >> 31 != 0) return unwind::adrp_result(word, pc);
  const std::uint32_t bytes = (word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
  return pc +
         static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(bytes << 11) >> 11});
}

class CopyWriter {
 public:
  CopyWriter(std::uint64_t address, std::span<std::uint8_t> out) noexcept
      : address_(address), out_(out) {}

  bool is_too_far() const noexcept { return is_too_far_; }
  std::uint64_t here() const noexcept { return address_ + at_; }
  void put(std::uint32_t word) noexcept {
    std::memcpy(out_.data() + at_, &word, sizeof word);
    at_ += sizeof word;
  }
  void put_jump(std::uint64_t target) noexcept {
    constexpr std::int64_t kReach = std::int64_t{128} << 20;
    const auto distance = static_cast<std::int64_t>(target - here());
    is_too_far_ = is_too_far_ || distance < -kReach || distance >= kReach;
    put(0x14000000 | (static_cast<std::uint32_t>(distance >> 2) & 0x3ffffff));
  }
  // ldr of a register from the literal at the end.
  void put_load(unsigned reg, std::uint64_t value) noexcept {
    const std::size_t literal = out_.size() - sizeof value;
    std::memcpy(out_.data() + literal, &value, sizeof value);
    put(0x58000000 | static_cast<std::uint32_t>((literal - at_) / 4) << 5 | reg);
  }

 private:
  std::uint64_t address_;
  std::span<std::uint8_t> out_;
  std::size_t at_ = 0;
  bool is_too_far_ = false;
};

// The same condition, two instructions ahead.
std::uint32_t with_distance_of_two(std::uint32_t word) noexcept {
  constexpr std::uint32_t kTwo = 2u << 5;
  const bool tests_bit = (word & 0x7e000000) == 0x36000000;
  return (word & (tests_bit ? 0xfff8001f : 0xff00001f)) | kTwo;
}

// From `pc` of the function, behind which it continues at `behind`.
void write_moved(std::uint32_t word, std::uint64_t pc, std::uint64_t behind,
                 CopyWriter& writer) noexcept {
  const unsigned reg = word & 31;
  switch (kind_of(word)) {
    case Kind::kAddress:
      return writer.put_load(reg, address_of_adr(word, pc));
    case Kind::kLoad: {
      // From its address, in the register itself: ldr w, ldr x, ldrsw.
      constexpr std::uint32_t kLoads[] = {0xb9400000, 0xf9400000, 0xb9800000};
      writer.put_load(reg, pc + static_cast<std::uint64_t>(literal_distance(word)));
      return writer.put(kLoads[word >> 30] | reg << 5 | reg);
    }
    case Kind::kConditional:
      writer.put(with_distance_of_two(word));
      writer.put_jump(behind);
      return writer.put_jump(machine::branch_target(word, pc));
    case Kind::kJump:
      return writer.put_jump(machine::branch_target(word, pc));
    default:
      return writer.put(word);
  }
}

void add_moved(Plan& plan, std::size_t from, std::size_t bytes) noexcept {
  plan.moved[plan.moved_count++] = {static_cast<std::uint8_t>(from), plan.copy_bytes};
  plan.copy_bytes = static_cast<std::uint8_t>(plan.copy_bytes + bytes);
}

}  // namespace

Refusal make_plan(const Function& function, Plan& plan) noexcept {
  plan = {.function = function.address};
  if (function.code.size() < kInstructionBytes) return Refusal::kTooShort;
  if (is_landing(word_at(function.code, 0))) {
    add_moved(plan, 0, kInstructionBytes);
    plan.patch_at = kInstructionBytes;
  }
  if (function.code.size() < plan.patch_at + kJumpBytes) return Refusal::kTooShort;
  const Kind kind = kind_of(word_at(function.code, plan.patch_at));
  if (kind == Kind::kSystemCall) return Refusal::kSystemCall;
  if (kind == Kind::kUnmovable) return Refusal::kUnmovable;
  add_moved(plan, plan.patch_at, words_in_copy(kind) * kInstructionBytes);
  plan.end = static_cast<std::uint8_t>(plan.patch_at + kJumpBytes);
  plan.jump_at = plan.copy_bytes;
  if (falls_through(kind)) {
    plan.copy_bytes = static_cast<std::uint8_t>(plan.copy_bytes + kInstructionBytes);
  }
  if (reads_return_address(function)) return Refusal::kReadsReturnAddress;
  return check_own_branches(function, plan);
}

Refusal build_copy(const Plan& plan, const Function& function, std::uint64_t copy,
                   std::span<std::uint8_t, Plan::kMostCopyBytes> out) noexcept {
  std::ranges::fill(out, std::uint8_t{0});  // udf
  CopyWriter writer(copy, out);
  for (std::size_t index = 0; index < plan.moved_count; ++index) {
    const std::size_t from = plan.moved[index].from;
    write_moved(word_at(function.code, from), plan.function + from, plan.function + plan.end,
                writer);
  }
  if (writer.here() < copy + plan.copy_bytes) writer.put_jump(plan.function + plan.end);
  return writer.is_too_far() ? Refusal::kTooFar : Refusal::kNone;
}

std::uint64_t Plan::original_pc(std::uint64_t pc, std::uint64_t copy) const noexcept {
  if (jump_at < copy_bytes && pc >= copy + jump_at) return function + end;
  std::uint64_t original = function;
  for (std::size_t index = 0; index < moved_count && copy + moved[index].to <= pc; ++index) {
    original = function + moved[index].from;
  }
  return original;
}

// The copy pushes nothing.
bool Plan::has_pushed_in_copy(std::uint64_t, std::uint64_t) const noexcept { return false; }

}  // namespace swipr::trace
