#include <algorithm>
#include <cstring>

#include "preload/trace/plan/branches.h"
#include "preload/trace/plan/code_piece.h"

namespace swipr::trace {

namespace {

using machine::Instruction;

constexpr std::uint8_t kCallOpcode = 0xe8;
constexpr std::size_t kMostTables = 64;
constexpr std::size_t kMostEntries = 4096;

std::uint64_t branch_target(const Instruction& instruction, std::uint64_t pc) noexcept {
  return pc + instruction.bytes + static_cast<std::uint64_t>(instruction.immediate);
}

// Calls `look(instruction, pc)` until it returns false. False: undecodable.
template <typename Look>
bool for_each_instruction(const Function& function, Look look) noexcept {
  for (std::size_t at = 0; at < function.code.size();) {
    const Instruction instruction = CodePiece(function.code, at).decode();
    if (instruction.bytes == 0) return false;
    if (!look(instruction, function.address + at)) return true;
    at += instruction.bytes;
  }
  return true;
}

Range<std::uint64_t> beginning(const Plan& plan) noexcept {
  return {plan.function, plan.forbidden().end};
}

// jmp *…: FF /4.
bool is_indirect_jump(const Instruction& instruction) noexcept {
  return instruction.is_plain && instruction.opcode == 0xff && (instruction.modrm >> 3 & 7) == 4;
}

bool is_lea(const Instruction& instruction) noexcept {
  return instruction.is_plain && instruction.opcode == 0x8d;
}

// The address that an instruction may take as that of a table. 0: none.
std::uint64_t table_of(const Instruction& instruction, std::uint64_t pc) noexcept {
  const auto displacement = static_cast<std::uint64_t>(std::int64_t{instruction.displacement});
  if (is_lea(instruction) && instruction.is_rip_relative) {
    return pc + instruction.bytes + displacement;
  }
  // Code that is linked to a fixed address: an index and a displacement, no base.
  const bool has_no_base = (instruction.modrm & 0xc7) == 0x04;
  if (has_no_base && instruction.displacement > 0) return displacement;
  // mov $table,%reg
  const bool is_move = instruction.is_plain && instruction.opcode >= 0xb8 &&
                       instruction.opcode <= 0xbf && instruction.immediate > 0;
  return is_move ? static_cast<std::uint64_t>(instruction.immediate) : 0;
}

// Entries up to the first that leads to no code.
template <typename Entry>
bool table_leads_into(std::uint64_t table, std::uint64_t base, Range<std::uint64_t> target,
                      Range<std::uint64_t> text, unwind::ImageReader reader) noexcept {
  constexpr std::size_t kPiece = 64;
  Entry entries[kPiece];
  for (std::size_t first = 0; first < kMostEntries; first += kPiece) {
    const std::uint64_t address = table + first * sizeof(Entry);
    std::size_t count = kPiece;
    while (count != 0 &&
           !reader.read(reader.state, address, std::as_writable_bytes(std::span(entries, count)))) {
      count /= 2;
    }
    for (std::size_t index = 0; index < count; ++index) {
      const std::uint64_t leads_to =
          base + static_cast<std::uint64_t>(std::int64_t{entries[index]});
      if (target.contains(leads_to)) return true;
      if (!text.contains(leads_to)) return false;
    }
    if (count < kPiece) return false;
  }
  return false;
}

}  // namespace

Refusal check_own_branches(const Function& function, const Plan& plan) noexcept {
  const Range<std::uint64_t> target = beginning(plan);
  bool is_hit = false;
  const bool decoded =
      for_each_instruction(function, [&](const Instruction& instruction, std::uint64_t pc) {
        if (!machine::is_relative_branch(instruction)) return true;
        const std::uint64_t leads_to = branch_target(instruction, pc);
        const bool is_recursion =
            instruction.opcode == kCallOpcode && instruction.is_plain && leads_to == plan.function;
        is_hit = target.contains(leads_to) && !is_recursion;
        return !is_hit;
      });
  if (is_hit) return Refusal::kBranchInto;
  return decoded ? Refusal::kNone : Refusal::kUndecodable;
}

Refusal check_jump_tables(const Function& function, const Plan& plan, Range<std::uint64_t> text,
                          unwind::ImageReader reader) noexcept {
  bool jumps = false;
  for_each_instruction(function, [&](const Instruction& instruction, std::uint64_t) {
    jumps = is_indirect_jump(instruction);
    return !jumps;
  });
  if (!jumps) return Refusal::kNone;
  const Range<std::uint64_t> target = beginning(plan);
  bool is_hit = false;
  std::size_t tables = 0;
  for_each_instruction(function, [&](const Instruction& instruction, std::uint64_t pc) {
    const std::uint64_t table = table_of(instruction, pc);
    if (table == 0) return true;
    is_hit = ++tables > kMostTables ||
             table_leads_into<std::int32_t>(table, table, target, text, reader) ||
             table_leads_into<std::int64_t>(table, 0, target, text, reader);
    return !is_hit;
  });
  return is_hit ? Refusal::kJumpTableInto : Refusal::kNone;
}

Refusal check_neighbour(const Function& neighbour, const Plan& plan) noexcept {
  bool is_hit = false;
  for_each_instruction(neighbour, [&](const Instruction& instruction, std::uint64_t pc) {
    is_hit = machine::is_relative_branch(instruction) &&
             plan.forbidden().contains(branch_target(instruction, pc));
    return !is_hit;
  });
  return is_hit ? Refusal::kOutsideBranch : Refusal::kNone;
}

Refusal check_far_branches(std::span<const std::uint8_t> text, std::uint64_t address,
                           const Plan& plan) noexcept {
  const Range<std::uint64_t> forbidden = plan.forbidden();
  constexpr std::size_t kDistanceBytes = 4;
  for (std::size_t at = 1; at + kDistanceBytes <= text.size(); ++at) {
    std::int32_t distance = 0;
    std::memcpy(&distance, text.data() + at, sizeof distance);
    const std::uint64_t behind = address + at + kDistanceBytes;
    if (!forbidden.contains(behind + static_cast<std::uint64_t>(std::int64_t{distance}))) continue;
    const std::uint8_t opcode = text[at - 1];
    const bool is_conditional = (opcode & 0xf0) == 0x80 && at >= 2 && text[at - 2] == 0x0f;
    if (opcode == 0xe8 || opcode == 0xe9 || is_conditional) return Refusal::kOutsideBranch;
  }
  return Refusal::kNone;
}

void find_entries(std::span<const std::uint8_t> text, std::uint64_t address, std::uint64_t function,
                  Entries& found) noexcept {
  constexpr std::size_t kDistanceBytes = 4;
  for (std::size_t at = 1; at + kDistanceBytes <= text.size(); ++at) {
    std::int32_t distance = 0;
    std::memcpy(&distance, text.data() + at, sizeof distance);
    const std::uint64_t behind = address + at + kDistanceBytes;
    if (behind + static_cast<std::uint64_t>(std::int64_t{distance}) != function) continue;
    const std::uint8_t opcode = text[at - 1];
    if (opcode == kCallOpcode) found.are_calls = true;
    const bool is_conditional = (opcode & 0xf0) == 0x80 && at >= 2 && text[at - 2] == 0x0f;
    if (opcode == 0xe9 || is_conditional) found.are_jumps = true;
  }
}

}  // namespace swipr::trace
