#include <algorithm>
#include <array>
#include <span>

#include "preload/agent/sample/callers/frame_recovery.h"
#include "preload/machine/instruction_aarch64.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

namespace {

// What an instruction takes from the stack; 0: nothing, or no known number.
// Source: Arm ARM, C6.2: SUB (immediate), STP and STR (pre-index), C7.2: STP (SIMD&FP).
std::int64_t stack_bytes_taken(std::uint32_t word) noexcept {
  struct Form {
    std::uint32_t mask;
    std::uint32_t bits;
    unsigned at;      // of the number's lowest bit
    unsigned length;  // in bits
    int unit;         // in bytes; negative: the number is signed and is added
  };
  constexpr Form kForms[] = {
      {0xffc003ff, 0xd10003ff, 10, 12, 1},     // sub sp, sp, #N
      {0xffc003ff, 0xd14003ff, 10, 12, 4096},  // sub sp, sp, #N, lsl #12
      {0xffc003e0, 0xa98003e0, 15, 7, -8},     // stp x, x, [sp, #N]!
      {0xffc003e0, 0x6d8003e0, 15, 7, -8},     // stp d, d, [sp, #N]!
      {0xffc003e0, 0xad8003e0, 15, 7, -16},    // stp q, q, [sp, #N]!
      {0xffe00fe0, 0xf8000fe0, 12, 9, -1},     // str x, [sp, #N]!
  };
  for (const Form& form : kForms) {
    if ((word & form.mask) != form.bits) continue;
    const std::int64_t number = word >> form.at & ((1u << form.length) - 1);
    const std::int64_t sign = form.unit < 0 ? std::int64_t{1} << (form.length - 1) : 0;
    return ((number ^ sign) - sign) * form.unit;
  }
  return 0;
}

// add x29, sp, #N, which is mov x29, sp where N is 0.
bool sets_frame_pointer(std::uint32_t word) noexcept { return (word & 0xffc003ff) == 0x910003fd; }

struct Frame {
  bool exists = false;
  std::int64_t size = 0;  // from the frame pointer to the CFA
  std::int64_t room = 0;  // from SP to the frame pointer, after the function's first block
};
Frame frame_of(std::span<const std::uint32_t> code, std::uint64_t address) noexcept {
  Frame frame;
  std::int64_t taken = 0;
  for (const std::uint32_t word : code) {
    if (machine::is_call_or_return(word) || machine::branch_target(word, address) != 0) break;
    address += machine::kInstructionBytes;
    taken += stack_bytes_taken(word);
    if (frame.exists || !sets_frame_pointer(word)) continue;
    frame = {.exists = true, .size = taken - (word >> 10 & 0xfff)};
  }
  frame.room = taken - frame.size;
  return frame;
}

}  // namespace

const FrameRecovery::Prologue& FrameRecovery::prologue_of(const ProcMemory& memory,
                                                          const unwind::CodeMap& map,
                                                          std::uint64_t pc) noexcept {
  Prologue& known = cache_[pc / machine::kInstructionBytes % cache_.size()];
  if (known.pc == pc) return known;
  known = {.pc = pc, .function = 0, .frame_bytes = 0};
  const Functions functions(map, pc - 1);
  const unwind::Rule* const rule = functions.rule_at(pc - 1);
  const std::uint64_t function = functions.start_of(pc - 1);
  if (function == 0 || rule == nullptr || rule->flags != 0 ||
      rule->cfa_register != unwind::kFrameRegister) {
    return known;
  }
  std::array<std::uint32_t, 128> words{};  // of the first block
  const std::size_t count = (pc - function) / machine::kInstructionBytes;
  const auto code = std::span(words).first(std::min(words.size(), count));
  if (!memory.read(function, std::as_writable_bytes(code))) return known;
  const Frame frame = frame_of(code, function);
  if (!frame.exists || frame.size != rule->cfa_offset || frame.room < 0) return known;
  known.function = function;
  known.frame_bytes = static_cast<std::uint64_t>(frame.room);
  return known;
}

std::optional<std::uint64_t> FrameRecovery::recover(const ProcMemory& memory,
                                                    const unwind::CodeMap& map, std::uint64_t pc,
                                                    std::uint64_t sp) noexcept {
  const Prologue& prologue = prologue_of(memory, map, pc);
  if (prologue.function == 0) return std::nullopt;
  const std::uint64_t frame = sp + prologue.frame_bytes;
  const std::uint64_t return_address =
      unwind::plain_return_address(read_pointer(memory, frame + 8));
  if (return_address == 0 || !is_call_of(memory, return_address, prologue.function)) {
    return std::nullopt;
  }
  return frame;
}

}  // namespace swipr::agent
