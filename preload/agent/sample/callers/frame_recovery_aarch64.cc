#include <algorithm>
#include <array>
#include <span>

#include "preload/agent/sample/callers/frame_recovery.h"
#include "preload/machine/instruction_aarch64.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

namespace {

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
    const std::int64_t bytes = machine::stack_bytes_taken(word);
    if (bytes == 0 && machine::writes_stack_pointer(word)) return {};
    taken += bytes;
    if (frame.exists || !sets_frame_pointer(word)) continue;
    frame = {.exists = true, .size = taken - (word >> 10 & 0xfff)};
  }
  frame.room = taken - frame.size;
  return frame;
}

}  // namespace

Prologue read_prologue(const ProcMemory& memory, const unwind::CodeMap& map,
                       std::uint64_t pc) noexcept {
  const Functions functions(map, pc - 1);
  const unwind::Rule* const rule = functions.rule_at(pc - 1);
  const std::uint64_t function = functions.start_of(pc - 1);
  if (function == 0 || rule == nullptr || rule->flags != 0 ||
      rule->cfa_register != unwind::kFrameRegister || rule->cfa_offset + rule->saved_base != 8) {
    return {};
  }
  std::array<std::uint32_t, 128> words{};  // of the first block
  const std::size_t count = (pc - function) / machine::kInstructionBytes;
  const auto code = std::span(words).first(std::min(words.size(), count));
  if (!read_code(memory, function, code)) return {};
  const Frame frame = frame_of(code, function);
  if (!frame.exists || frame.size != rule->cfa_offset || frame.room < 0) return {};
  return {.function = function, .frame_bytes = static_cast<std::uint64_t>(frame.room)};
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
