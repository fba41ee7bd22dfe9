// What a function's instructions have done to its frame so far, as far as an unwind rule needs it.
// Context: control thread.  Allocates: never.
// Source: Intel SDM volume 2; System V AMD64 ABI, section 3.2.
#pragma once

#include <cstdint>
#include <span>

#include "preload/machine/instruction_x86_64.h"
#include "preload/unwind/table/rule.h"

namespace swipr::unwind {

// Distances are counted down from the CFA, the stack pointer before the call.
struct FrameState {
  static constexpr std::int32_t kUnknown = INT32_MIN;

  std::int32_t stack = 8;         // to the stack pointer: only the return address is on the stack
  std::int32_t frame = kUnknown;  // to the frame pointer, if the function has set it up
  std::int16_t saved_frame = Rule::kKept;  // as in Rule
  std::int16_t saved_base = Rule::kKept;
  bool is_outermost = false;  // the frame pointer was cleared, which marks the outermost frame

  void execute(const machine::Instruction& instruction,
               std::span<const std::uint8_t> code) noexcept;
  // Nothing but the return address is on the stack, as at a function's entry and its end.
  bool is_at_entry() const noexcept { return stack == FrameState{}.stack; }
  // The rule at this point. kRuleNone: unknown.
  Rule rule() const noexcept;

 private:
  void take(std::int64_t bytes) noexcept;  // stack space; negative: gives it back
  void push(std::uint8_t opcode, bool extended) noexcept;
  void pop(std::uint8_t opcode, bool extended) noexcept;
  bool move(std::span<const std::uint8_t> code, const machine::Instruction& instruction) noexcept;
  void drop(std::span<const std::uint8_t> code) noexcept;
};

}  // namespace swipr::unwind
