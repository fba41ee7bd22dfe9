#include "preload/agent/sample/callers/call_site.h"
#include "preload/agent/sample/callers/vfork_caller.h"
#include "preload/machine/instruction_x86_64.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kFollowedBytes = std::size_t{64} << 10;

bool may_be_call(const machine::Instruction& instruction) noexcept {
  return instruction.is_plain && (instruction.opcode == 0xe8 || instruction.opcode == 0xff);
}

// Calls of vfork in one function.
struct Calls {
  std::uint64_t only = 0;         // after the first; 0: there are more
  std::uint64_t last_before = 0;  // after the last one before the child's call
  unsigned count = 0;
};

Calls find_calls(const ProcMemory& memory, const Functions& functions, std::uint64_t begin,
                 std::uint64_t vfork, std::uint64_t childs) noexcept {
  Calls calls;
  for (std::uint64_t address = begin; address - begin < kFollowedBytes;) {
    const Code code(memory, address, address + Code::kPieceBytes);
    if (!code.is_inside(0)) break;
    for (std::size_t at = 0; code.is_inside(at); address = code.address(at)) {
      if (functions.start_of(address) != begin) return calls;
      const machine::Instruction instruction = machine::decode_instruction(code.from(at));
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
  const Functions callers(map, below - 1);
  const std::uint64_t vfork = Functions(map, pc).start_of(pc);
  const std::uint64_t caller = below == 0 ? 0 : callers.start_of(below - 1);
  if (vfork == 0 || caller == 0 || !follows_call(memory, map, below)) return std::nullopt;
  const Calls calls = find_calls(memory, callers, caller, vfork, below);
  if (calls.only != 0) return calls.only;
  return calls.last_before != 0 ? calls.last_before : below;
}

}  // namespace swipr::agent
