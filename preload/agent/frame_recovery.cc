#include "preload/agent/frame_recovery.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace swipr::agent {

namespace {

constexpr std::uint8_t kPushRbpMovRspRbp[] = {0x55, 0x48, 0x89, 0xe5};
constexpr std::uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
// How far before the pc a function may begin.
constexpr std::size_t kSearchBytes = std::size_t{64} << 10;
constexpr std::size_t kPieceBytes = 4096;
constexpr std::size_t kPrologueBytes = 48;

std::uint32_t load32(const std::uint8_t* at) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

bool read_code(const ProcMemory& memory, std::uint64_t address,
               std::span<std::uint8_t> out) noexcept {
  return memory.read(address, std::as_writable_bytes(out));
}

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

// Bytes that the instructions behind `mov %rsp,%rbp` take from the stack: pushes of preserved
// registers, then `sub $n,%rsp`. Anything else ends the prologue.
std::uint64_t pushed_bytes(std::span<const std::uint8_t> code) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at + 7 <= code.size();) {
    const std::uint8_t* here = code.data() + at;
    if (here[0] == 0x53) {  // push %rbx
      bytes += 8;
      at += 1;
    } else if (here[0] == 0x41 && here[1] >= 0x54 && here[1] <= 0x57) {  // push %r12 … %r15
      bytes += 8;
      at += 2;
    } else if (here[0] == 0x48 && here[1] == 0x83 && here[2] == 0xec) {
      return bytes + here[3];
    } else if (here[0] == 0x48 && here[1] == 0x81 && here[2] == 0xec) {
      return bytes + load32(here + 3);
    } else {
      break;
    }
  }
  return bytes;
}

bool is_indirect_call(const std::uint8_t* code, std::size_t length) noexcept {
  // FF /2, whose ModRM byte says how long it is.
  return code[0] == 0xff && (code[1] & 0x38) == 0x10 && length >= 2;
}

// Where a PLT entry leads: [endbr64] [bnd] jmp *slot(%rip).
std::uint64_t plt_target(const ProcMemory& memory, std::uint64_t entry) noexcept {
  std::uint8_t code[16];
  if (!read_code(memory, entry, code)) return 0;
  std::size_t at = std::memcmp(code, kEndbr64, sizeof(kEndbr64)) == 0 ? sizeof(kEndbr64) : 0;
  if (code[at] == 0xf2) ++at;
  if (code[at] != 0xff || code[at + 1] != 0x25) return 0;
  const auto offset = static_cast<std::int32_t>(load32(code + at + 2));
  std::uint64_t target = 0;
  const std::uint64_t slot = entry + at + 6 + static_cast<std::uint64_t>(std::int64_t{offset});
  return memory.read(slot, std::as_writable_bytes(std::span(&target, 1))) ? target : 0;
}

}  // namespace

bool is_call_of(const ProcMemory& memory, std::uint64_t return_address,
                std::uint64_t function) noexcept {
  std::uint8_t code[7];
  if (return_address < sizeof(code)) return false;
  if (!read_code(memory, return_address - sizeof(code), code)) return false;
  if (code[2] == 0xe8) {  // call rel32
    const auto offset = static_cast<std::int32_t>(load32(code + 3));
    const std::uint64_t target = return_address + static_cast<std::uint64_t>(std::int64_t{offset});
    // The setup may follow an endbr64, which is what calls aim at.
    const auto is_function = [function](std::uint64_t address) {
      return address == function || address + sizeof(kEndbr64) == function;
    };
    if (is_function(target) || is_function(plt_target(memory, target))) return true;
  }
  for (const std::size_t length : {2u, 3u, 6u, 7u}) {
    if (is_indirect_call(code + sizeof(code) - length, length)) return true;
  }
  return false;
}

const FrameRecovery::Prologue& FrameRecovery::prologue_of(const ProcMemory& memory,
                                                          std::uint64_t pc) noexcept {
  Prologue& known = cache_[(pc >> 1) % cache_.size()];
  if (known.pc == pc) return known;
  known = {.pc = pc, .function = find_frame_setup(memory, pc), .frame_bytes = 0};
  std::uint8_t code[kPrologueBytes];
  const std::uint64_t behind = known.function + sizeof(kPushRbpMovRspRbp);
  if (known.function != 0 && read_code(memory, behind, code))
    known.frame_bytes = pushed_bytes(code);
  return known;
}

std::optional<std::uint64_t> FrameRecovery::recover_rbp(const ProcMemory& memory, std::uint64_t pc,
                                                        std::uint64_t sp) noexcept {
  const Prologue& prologue = prologue_of(memory, pc);
  if (prologue.function == 0) return std::nullopt;
  const std::uint64_t rbp = sp + prologue.frame_bytes;
  std::uint64_t return_address = 0;
  if (!memory.read(rbp + 8, std::as_writable_bytes(std::span(&return_address, 1)))) {
    return std::nullopt;
  }
  if (!is_call_of(memory, return_address, prologue.function)) return std::nullopt;
  return rbp;
}

}  // namespace swipr::agent
