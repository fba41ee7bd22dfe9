#include "preload/agent/sample/frame_recovery.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "preload/agent/sample/instruction_x86_64.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::agent {

namespace {

constexpr std::uint8_t kPushRbpMovRspRbp[] = {0x55, 0x48, 0x89, 0xe5};
constexpr std::uint8_t kMovRspRbp[2][3] = {{0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xec}};
constexpr std::uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
// How far before the pc a function without CFI may begin.
constexpr std::size_t kSearchBytes = std::size_t{64} << 10;
// How much of a function is followed: prologues are at its beginning.
constexpr std::size_t kPieceBytes = 4096;
constexpr std::size_t kLongestInstruction = 15;

std::uint32_t load32(const std::uint8_t* at) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

bool read_code(const ProcMemory& memory, std::uint64_t address,
               std::span<std::uint8_t> out) noexcept {
  return memory.read(address, std::as_writable_bytes(out));
}

std::uint64_t read_pointer(const ProcMemory& memory, std::uint64_t address) noexcept {
  std::uint64_t value = 0;
  return memory.read(address, std::as_writable_bytes(std::span(&value, 1))) ? value : 0;
}

// The code from `begin` up to `end`, or what fits, with room for the last instruction to be
// decoded.
class Code {
 public:
  Code(const ProcMemory& memory, std::uint64_t begin, std::uint64_t end) noexcept : begin_(begin) {
    size_ = std::min<std::size_t>(end - begin, kPieceBytes);
    std::size_t bytes = size_ + kLongestInstruction;
    // The last function of a mapping may have nothing readable behind it.
    if (!read_code(memory, begin, std::span(bytes_, bytes)) &&
        !read_code(memory, begin, std::span(bytes_, size_))) {
      size_ = 0;
    }
  }
  bool is_inside(std::size_t at) const noexcept { return at < size_; }
  std::uint64_t address(std::size_t at) const noexcept { return begin_ + at; }
  std::span<const std::uint8_t> from(std::size_t at) const noexcept {
    return std::span(bytes_).subspan(at, kLongestInstruction);
  }

 private:
  std::uint64_t begin_;
  std::size_t size_ = 0;
  std::uint8_t bytes_[kPieceBytes + kLongestInstruction] = {};
};

// Address of the last `push %rbp; mov %rsp,%rbp` before `pc`; 0: none near.
std::uint64_t find_frame_setup(const ProcMemory& memory, std::uint64_t pc) noexcept {
  // Pieces overlap by what a pattern across their border needs.
  std::uint8_t bytes[kPieceBytes + sizeof(kPushRbpMovRspRbp) - 1];
  std::uint64_t end = pc;
  while (pc - end < kSearchBytes && end > kPieceBytes) {
    const std::uint64_t begin = end - kPieceBytes;
    const std::size_t size = std::min<std::size_t>(sizeof(bytes), pc - begin);
    if (!read_code(memory, begin, std::span(bytes, size))) return 0;
    for (std::size_t at = size - sizeof(kPushRbpMovRspRbp) + 1; at-- > 0;) {
      if (std::memcmp(bytes + at, kPushRbpMovRspRbp, sizeof(kPushRbpMovRspRbp)) == 0) {
        return begin + at;
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

// What CFI says of an instruction. Without CFI everything is possible.
class FrameRules {
 public:
  FrameRules(const unwind::CodeMap& map, std::uint64_t address) noexcept
      : range_(map.find(address)) {
    has_cfi_ = range_ != nullptr && range_->table != nullptr &&
               range_->table->find(address - range_->load_bias) != nullptr;
  }
  bool has_cfi() const noexcept { return has_cfi_; }
  std::uint64_t function_start(std::uint64_t address) const noexcept {
    const std::uint64_t start = range_->table->function_start(address - range_->load_bias);
    return start == 0 ? 0 : start + range_->load_bias;
  }
  // The plain frame of `push %rbp; mov %rsp,%rbp`.
  bool is_frame_at(std::uint64_t address) const noexcept {
    if (!has_cfi_) return true;
    const unwind::Rule* rule = range_->table->find(address - range_->load_bias);
    return rule != nullptr && rule->flags == 0 && rule->cfa_register == unwind::kRbp &&
           rule->cfa_offset == 16 && rule->saved_frame == -16;
  }

 private:
  const unwind::CodeRange* range_;
  bool has_cfi_ = false;
};

// Bytes between SP and RBP once the function's first block is done. Calls within a function all
// start from there, save those with arguments on the stack or behind an alloca.
std::optional<std::uint64_t> find_frame_bytes(const ProcMemory& memory, const FrameRules& rules,
                                              std::uint64_t function, std::uint64_t pc) noexcept {
  const Code code(memory, function, pc);
  bool has_frame = false;
  std::int64_t taken = 0;
  for (std::size_t at = 0; code.is_inside(at);) {
    const std::span<const std::uint8_t> here = code.from(at);
    const Instruction instruction = decode_instruction(here);
    if (instruction.bytes == 0) return std::nullopt;
    at += instruction.bytes;
    if (!has_frame) {
      has_frame = is_mov_rsp_rbp(here) && rules.is_frame_at(code.address(at));
      continue;
    }
    if (ends_straight_code(instruction)) break;
    taken += stack_bytes_taken(instruction, here);
  }
  if (!has_frame || taken < 0) return std::nullopt;
  return static_cast<std::uint64_t>(taken);
}

// Where a PLT entry leads: [endbr64] [bnd] jmp *slot(%rip).
std::uint64_t plt_target(const ProcMemory& memory, std::uint64_t entry) noexcept {
  std::uint8_t code[16];
  if (!read_code(memory, entry, code)) return 0;
  std::size_t at = std::memcmp(code, kEndbr64, sizeof(kEndbr64)) == 0 ? sizeof(kEndbr64) : 0;
  if (code[at] == 0xf2) ++at;
  if (code[at] != 0xff || code[at + 1] != 0x25) return 0;
  const auto offset = static_cast<std::int32_t>(load32(code + at + 2));
  return read_pointer(memory, entry + at + 6 + static_cast<std::uint64_t>(std::int64_t{offset}));
}

// Is it the function, or a PLT entry that leads there?
bool leads_to(const ProcMemory& memory, std::uint64_t target, std::uint64_t function) noexcept {
  // The setup may follow an endbr64, which is what calls aim at.
  const auto is_function = [function](std::uint64_t address) {
    return address == function || address + sizeof(kEndbr64) == function;
  };
  return is_function(target) || is_function(plt_target(memory, target));
}

// Does the code from `begin` on jump to `function`, as a call in tail position does?
bool jumps_to(const ProcMemory& memory, std::uint64_t begin, std::uint64_t function) noexcept {
  constexpr std::size_t kFollowedBytes = 1024;
  constexpr std::uint8_t kJump = 0xe9;
  const Code code(memory, begin, begin + kFollowedBytes);
  for (std::size_t at = 0; code.is_inside(at);) {
    const Instruction instruction = decode_instruction(code.from(at));
    if (instruction.bytes == 0) return false;
    at += instruction.bytes;
    const bool is_jump =
        instruction.bytes >= 5 && ((instruction.is_plain && instruction.opcode == kJump) ||
                                   (instruction.is_second && ends_straight_code(instruction)));
    if (is_jump && code.address(at) + static_cast<std::uint64_t>(instruction.immediate) == function)
      return true;
  }
  return false;
}

}  // namespace

bool is_call_of(const ProcMemory& memory, std::uint64_t return_address,
                std::uint64_t function) noexcept {
  constexpr std::size_t kBefore = 7;
  std::uint8_t code[kBefore + kLongestInstruction];
  if (return_address < kBefore) return false;
  if (!read_code(memory, return_address - kBefore, code)) return false;
  const auto behind = [return_address](const Instruction& instruction, std::int64_t offset) {
    return instruction.bytes == 0 ? 0 : return_address + static_cast<std::uint64_t>(offset);
  };
  for (const std::size_t length : {5u, 6u, 2u, 3u, 4u, 7u}) {
    const std::span<const std::uint8_t> here =
        std::span(code).subspan(kBefore - length, kLongestInstruction);
    const Instruction call = decode_instruction(here);
    if (call.bytes != length || !call.is_plain) continue;
    if (here[0] == 0xe8) {  // call rel32
      const std::uint64_t target = behind(call, call.immediate);
      if (leads_to(memory, target, function) || jumps_to(memory, target, function)) return true;
    } else if (here[0] == 0xff && here[1] == 0x15) {  // call *slot(%rip)
      const std::uint64_t target = read_pointer(memory, behind(call, call.displacement));
      if (leads_to(memory, target, function) || jumps_to(memory, target, function)) return true;
    } else if (here[0] == 0xff && (here[1] & 0x38) == 0x10) {  // call through a pointer
      return true;
    }
  }
  return false;
}

const FrameRecovery::Prologue& FrameRecovery::prologue_of(const ProcMemory& memory,
                                                          const unwind::CodeMap& map,
                                                          std::uint64_t pc) noexcept {
  Prologue& known = cache_[(pc >> 1) % cache_.size()];
  if (known.pc == pc) return known;
  known = {.pc = pc, .function = 0, .frame_bytes = 0};
  const FrameRules rules(map, pc - 1);
  const std::uint64_t function =
      rules.has_cfi() ? rules.function_start(pc - 1) : find_frame_setup(memory, pc);
  if (function == 0 || !rules.is_frame_at(pc - 1)) return known;
  const auto frame_bytes = find_frame_bytes(memory, rules, function, pc);
  if (frame_bytes) known = {.pc = pc, .function = function, .frame_bytes = *frame_bytes};
  return known;
}

std::optional<std::uint64_t> FrameRecovery::recover_rbp(const ProcMemory& memory,
                                                        const unwind::CodeMap& map,
                                                        std::uint64_t pc,
                                                        std::uint64_t sp) noexcept {
  const Prologue& prologue = prologue_of(memory, map, pc);
  if (prologue.function == 0) return std::nullopt;
  const std::uint64_t rbp = sp + prologue.frame_bytes;
  const std::uint64_t return_address = read_pointer(memory, rbp + 8);
  if (return_address == 0 || !is_call_of(memory, return_address, prologue.function)) {
    return std::nullopt;
  }
  return rbp;
}

}  // namespace swipr::agent
