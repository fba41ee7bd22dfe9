#include <algorithm>
#include <cstring>
#include <span>

#include "common/core/range.h"
#include "preload/agent/sample/callers/frame_recovery.h"
#include "preload/machine/instruction_x86_64.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

namespace {

constexpr std::uint8_t kPushRbpMovRspRbp[] = {0x55, 0x48, 0x89, 0xe5};
constexpr std::uint8_t kMovRspRbp[2][3] = {{0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xec}};
// Maximum distance from the start of a function without CFI to the pc.
constexpr std::size_t kSearchBytes = std::size_t{64} << 10;
constexpr std::size_t kPieceBytes = Code::kPieceBytes;

// Address of the last `push %rbp; mov %rsp,%rbp` before `pc`; 0: none near.
std::uint64_t find_frame_setup(const ProcMemory& memory, std::uint64_t pc) noexcept {
  // Pieces overlap, so that a pattern across their border is found.
  std::uint8_t bytes[kPieceBytes + sizeof(kPushRbpMovRspRbp) - 1];
  std::uint64_t end = pc;
  while (pc - end < kSearchBytes && end > kPieceBytes) {
    const std::uint64_t begin = end - kPieceBytes;
    const std::size_t size = std::min<std::size_t>(sizeof(bytes), pc - begin);
    if (!read_code(memory, begin, std::span(bytes, size))) return 0;
    // Most code has few of the first byte, which libc finds faster than a comparison at each place.
    std::size_t places = size - sizeof(kPushRbpMovRspRbp) + 1;
    while (const void* found = memrchr(bytes, kPushRbpMovRspRbp[0], places)) {
      places = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes);
      if (std::memcmp(found, kPushRbpMovRspRbp, sizeof(kPushRbpMovRspRbp)) == 0) {
        return begin + places;
      }
    }
    end = begin;
  }
  return 0;
}

bool is_mov_rsp_rbp(std::span<const std::uint8_t> code) noexcept {
  return std::memcmp(code.data(), kMovRspRbp[0], 3) == 0 ||
         std::memcmp(code.data(), kMovRspRbp[1], 3) == 0;
}

// Whether CFI permits it at an instruction. Without CFI everything is possible.
class FrameRules {
 public:
  FrameRules(const unwind::CodeMap& map, std::uint64_t address) noexcept
      : functions_(map, address), has_cfi_(functions_.rule_at(address) != nullptr) {}
  bool has_cfi() const noexcept { return has_cfi_; }
  std::uint64_t function_start(std::uint64_t address) const noexcept {
    return functions_.start_of(address);
  }
  // The plain frame of `push %rbp; mov %rsp,%rbp`.
  bool is_frame_at(std::uint64_t address) const noexcept {
    if (!has_cfi_) return true;
    const unwind::Rule* const rule = functions_.rule_at(address);
    return rule != nullptr && rule->flags == 0 && rule->cfa_register == unwind::kFrameRegister &&
           rule->cfa_offset == 16 && rule->saved_frame == -16;
  }

 private:
  Functions functions_;
  bool has_cfi_;
};

// Bytes between SP and RBP after the function's first block. All calls within a function have this
// distance, except those with arguments on the stack or after an alloca.
std::optional<std::uint64_t> find_frame_bytes(const ProcMemory& memory, const FrameRules& rules,
                                              std::uint64_t function, std::uint64_t pc) noexcept {
  const Code code(memory, function, pc);
  bool has_frame = false;
  std::int64_t taken = 0;
  for (std::size_t at = 0; code.is_inside(at);) {
    const std::span<const std::uint8_t> here = code.from(at);
    const machine::Instruction instruction = machine::decode_instruction(here);
    if (instruction.bytes == 0) return std::nullopt;
    at += instruction.bytes;
    if (!has_frame) {
      has_frame = is_mov_rsp_rbp(here) && rules.is_frame_at(code.address(at));
      continue;
    }
    if (machine::ends_straight_code(instruction)) break;
    taken += machine::stack_bytes_taken(instruction, here);
  }
  if (!has_frame || taken < 0) return std::nullopt;
  return static_cast<std::uint64_t>(taken);
}

// Of Go's asmcgocall while it runs C on the thread's own stack: there it keeps the goroutine, and
// how deep in the goroutine's stack its frame is. 0: that is no goroutine's.
std::uint64_t find_goroutine_frame(const ProcMemory& memory, std::uint64_t sp) noexcept {
  struct {
    std::uint64_t depth;
    std::uint64_t goroutine;
  } saved;
  Range<std::uint64_t> stack;  // the first field of a goroutine
  const bool is_read = memory.read(sp, std::as_writable_bytes(std::span(&saved, 1))) &&
                       saved.goroutine % 8 == 0 &&
                       memory.read(saved.goroutine, std::as_writable_bytes(std::span(&stack, 1)));
  const std::uint64_t frame = stack.end - saved.depth;
  return is_read && frame % 8 == 0 && stack.contains(frame) ? frame : 0;
}

}  // namespace

Prologue read_prologue(const ProcMemory& memory, const unwind::CodeMap& map,
                       std::uint64_t pc) noexcept {
  const FrameRules rules(map, pc - 1);
  const std::uint64_t function =
      rules.has_cfi() ? rules.function_start(pc - 1) : find_frame_setup(memory, pc);
  if (function == 0 || !rules.is_frame_at(pc - 1)) return {};
  const auto frame_bytes = find_frame_bytes(memory, rules, function, pc);
  if (!frame_bytes) return {};
  return {.function = function, .frame_bytes = *frame_bytes};
}

std::optional<std::uint64_t> FrameRecovery::recover(const ProcMemory& memory,
                                                    const unwind::CodeMap& map, std::uint64_t pc,
                                                    std::uint64_t sp) noexcept {
  const Prologue& prologue = prologue_of(memory, map, pc);
  if (prologue.function == 0) return std::nullopt;
  const auto is_its_frame = [&](std::uint64_t rbp) {
    const std::uint64_t return_address = rbp == 0 ? 0 : read_pointer(memory, rbp + 8);
    return return_address != 0 && is_call_of(memory, return_address, prologue.function);
  };
  if (const std::uint64_t rbp = sp + prologue.frame_bytes; is_its_frame(rbp)) return rbp;
  constexpr std::uint64_t kOfOlderGo = 40;  // above what Windows needs there
  for (const std::uint64_t below : {std::uint64_t{0}, kOfOlderGo}) {
    const std::uint64_t rbp = find_goroutine_frame(memory, sp + below);
    if (is_its_frame(rbp)) return rbp;
  }
  return std::nullopt;
}

}  // namespace swipr::agent
