#include <algorithm>
#include <array>
#include <span>

#include "preload/agent/sample/callers/return_place.h"
#include "preload/machine/instruction_aarch64.h"

namespace swipr::agent {

namespace {

using machine::kInstructionBytes;

// As on x86-64.
constexpr std::size_t kFollowedBytes = std::size_t{64} << 10;

// Follows the stack pointer from instruction to instruction. Source: Arm ARM, C6.2.
class StackPointer {
 public:
  StackPointer() noexcept {
    for (unsigned reg = 0; reg < places_.size(); ++reg) places_[reg] = StackPlace{.reg = reg};
  }
  const std::optional<StackPlace>& place() const noexcept { return places_[unwind::kSp]; }

  void execute(std::uint32_t word) noexcept {
    const unsigned to = word & 31;
    const std::optional<StackPlace> from = places_[word >> 5 & 31];
    const std::int64_t taken = machine::stack_bytes_taken(word);
    const bool writes_stack = machine::writes_stack_pointer(word);
    std::optional<StackPlace>& stack = places_[unwind::kSp];
    drop(machine::decode_instruction(word).writes);
    if (taken != 0) {
      if (stack) stack->offset -= taken;
    } else if ((word & 0xffc00000) == 0x91000000) {  // add x, x, #n; mov from or to sp
      places_[to] = from;
      if (places_[to]) places_[to]->offset += word >> 10 & 0xfff;
    } else if (writes_stack) {
      stack = std::nullopt;
    }
  }

 private:
  void drop(std::uint32_t written) noexcept {
    for (unsigned reg = 0; reg < unwind::kSp; ++reg) {
      if ((written >> reg & 1) != 0) places_[reg] = std::nullopt;
    }
  }

  std::array<std::optional<StackPlace>, 32> places_;
};
static_assert(unwind::kSp == 31, "the number of sp in instructions");

}  // namespace

std::optional<StackPlace> follow_to_return(const ProcMemory& memory, const CodeGap& gap) noexcept {
  StackPointer stack;
  std::uint64_t address = gap.pc();
  std::array<std::uint32_t, 256> words{};  // a part of a page
  constexpr std::uint64_t kPartBytes = sizeof words;
  std::uint64_t part = 0;
  for (std::size_t followed = 0; followed < kFollowedBytes; followed += kInstructionBytes) {
    if (!gap.contains(address)) return std::nullopt;
    if ((address & -kPartBytes) != part) {
      part = address & -kPartBytes;
      if (!read_code(memory, part, words)) return std::nullopt;
    }
    const std::uint32_t word = words[(address - part) / kInstructionBytes];
    if (machine::ends_leaf(word)) return stack.place();
    if (machine::is_call_or_return(word) || machine::is_trap(word)) return std::nullopt;
    if (!machine::keeps_link(word)) return std::nullopt;
    stack.execute(word);
    std::uint64_t target = machine::branch_target(word, address);
    address += kInstructionBytes;
    if (target == 0 || machine::is_conditional_branch(word)) continue;
    if (!gap.contains(target)) return stack.place();  // a call in tail position
    if (target < address) continue;                   // a loop: continue after it
    address = target;
  }
  return std::nullopt;
}

}  // namespace swipr::agent
