#include "preload/agent/sample/vfork_caller.h"

#include "preload/agent/sample/call_site.h"
#include "preload/agent/sample/instruction_x86_64.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kFollowedBytes = std::size_t{64} << 10;

// 0: no FDE covers it.
std::uint64_t function_start(const unwind::CodeMap& map, std::uint64_t address) noexcept {
  const unwind::CodeRange* const range = map.find(address);
  const unwind::UnwindTable* const table = range == nullptr ? nullptr : map.table_of(*range);
  if (table == nullptr || table->find(address - range->load_bias) == nullptr) return 0;
  return table->function_start(address - range->load_bias) + range->load_bias;
}

bool may_be_call(const Instruction& instruction) noexcept {
  return instruction.is_plain && (instruction.opcode == 0xe8 || instruction.opcode == 0xff);
}

// Calls of vfork in one function.
struct Calls {
  std::uint64_t only = 0;         // behind the first; 0 where there are more
  std::uint64_t last_before = 0;  // behind the last one in front of the child's call
  unsigned count = 0;
};

Calls find_calls(const ProcMemory& memory, const unwind::CodeMap& map, std::uint64_t begin,
                 std::uint64_t vfork, std::uint64_t childs) noexcept {
  Calls calls;
  for (std::uint64_t address = begin; address - begin < kFollowedBytes;) {
    const Code code(memory, address, address + Code::kPieceBytes);
    if (!code.is_inside(0)) break;
    for (std::size_t at = 0; code.is_inside(at); address = code.address(at)) {
      if (function_start(map, address) != begin) return calls;
      const Instruction instruction = decode_instruction(code.from(at));
      if (instruction.bytes == 0) return calls;
      at += instruction.bytes;
      const std::uint64_t behind = code.address(at);
      if (!may_be_call(instruction) ||
          find_call_of(memory, behind, vfork).kind != CallSite::Kind::kDirect) {
        continue;
      }
      calls.only = calls.count++ == 0 ? behind : 0;
      if (behind <= childs) calls.last_before = behind;
    }
  }
  return calls;
}

}  // namespace

std::optional<std::uint64_t> find_vfork_return(const ProcMemory& memory, const unwind::CodeMap& map,
                                               std::uint64_t pc, std::uint64_t below) noexcept {
  const std::uint64_t vfork = function_start(map, pc);
  const std::uint64_t caller = below == 0 ? 0 : function_start(map, below - 1);
  if (vfork == 0 || caller == 0 || !follows_call(memory, map, below)) return std::nullopt;
  const Calls calls = find_calls(memory, map, caller, vfork, below);
  if (calls.only != 0) return calls.only;
  return calls.last_before != 0 ? calls.last_before : below;
}

}  // namespace swipr::agent
