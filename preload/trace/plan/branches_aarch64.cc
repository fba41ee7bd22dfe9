#include "preload/machine/instruction_aarch64.h"
#include "preload/machine/operands_aarch64.h"
#include "preload/trace/plan/branches.h"
#include "preload/trace/plan/code_words.h"

namespace swipr::trace {

namespace {

using machine::kInstructionBytes;

// Of direct branches and calls. 0: none.
std::uint64_t target_of(std::uint32_t word, std::uint64_t pc) noexcept {
  if (machine::is_direct_call(word)) {
    return pc + static_cast<std::uint64_t>(machine::call_distance(word));
  }
  return machine::branch_target(word, pc);
}

// Calls `look(word, pc)` for each instruction until it returns false.
template <typename Look>
void for_each_word(std::span<const std::uint8_t> code, std::uint64_t address, Look look) noexcept {
  for (std::size_t at = -address % kInstructionBytes; at + kInstructionBytes <= code.size();
       at += kInstructionBytes) {
    if (!look(word_at(code, at), address + at)) return;
  }
}

bool leads_into(std::span<const std::uint8_t> code, std::uint64_t address,
                Range<std::uint64_t> target) noexcept {
  bool is_hit = false;
  for_each_word(code, address, [&](std::uint32_t word, std::uint64_t pc) {
    is_hit = target.contains(target_of(word, pc));
    return !is_hit;
  });
  return is_hit;
}

}  // namespace

Refusal check_own_branches(const Function& function, const Plan& plan) noexcept {
  const Range<std::uint64_t> target{plan.function, plan.forbidden().end};
  bool is_hit = false;
  for_each_word(function.code, function.address, [&](std::uint32_t word, std::uint64_t pc) {
    const std::uint64_t leads_to = target_of(word, pc);
    const bool is_recursion = machine::is_direct_call(word) && leads_to == plan.function;
    is_hit = target.contains(leads_to) && !is_recursion;
    return !is_hit;
  });
  return is_hit ? Refusal::kBranchInto : Refusal::kNone;
}

// Not looked for: the patch is one instruction, so nothing can continue inside of it, and a loop
// keeps nothing below the stack pointer (AAPCS64, 6.4.5). Its rounds would be counted as calls.
Refusal check_jump_tables(const Function&, const Plan&, Range<std::uint64_t>,
                          unwind::ImageReader) noexcept {
  return Refusal::kNone;
}

Refusal check_neighbour(const Function& neighbour, const Plan& plan) noexcept {
  return check_far_branches(neighbour.code, neighbour.address, plan);
}

Refusal check_far_branches(std::span<const std::uint8_t> text, std::uint64_t address,
                           const Plan& plan) noexcept {
  return plan.patch_at != 0 && leads_into(text, address, plan.forbidden()) ? Refusal::kOutsideBranch
                                                                           : Refusal::kNone;
}

void find_entries(std::span<const std::uint8_t> text, std::uint64_t address, std::uint64_t function,
                  Entries& found) noexcept {
  for_each_word(text, address, [&](std::uint32_t word, std::uint64_t pc) {
    if (target_of(word, pc) != function) return true;
    (machine::is_direct_call(word) ? found.are_calls : found.are_jumps) = true;
    return true;
  });
}

}  // namespace swipr::trace
