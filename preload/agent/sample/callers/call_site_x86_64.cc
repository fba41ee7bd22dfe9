#include <cstring>

#include "preload/agent/sample/callers/call_site.h"
#include "preload/machine/instruction_x86_64.h"

namespace swipr::agent {

namespace {

constexpr std::uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

std::uint32_t load32(const std::uint8_t* at) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// Target of a PLT entry: [endbr64] [bnd] jmp *slot(%rip).
std::uint64_t plt_target(const ProcMemory& memory, std::uint64_t entry) noexcept {
  std::uint8_t code[16];
  if (!read_code(memory, entry, code)) return 0;
  std::size_t at = std::memcmp(code, kEndbr64, sizeof(kEndbr64)) == 0 ? sizeof(kEndbr64) : 0;
  if (code[at] == 0xf2) ++at;
  if (code[at] != 0xff || code[at + 1] != 0x25) return 0;
  const auto offset = static_cast<std::int32_t>(load32(code + at + 2));
  return read_pointer(memory, entry + at + 6 + static_cast<std::uint64_t>(std::int64_t{offset}));
}

class Function {
 public:
  explicit Function(std::uint64_t begin) noexcept : begin_(begin) {}
  // The setup of a frame may follow an endbr64, which is the target of calls.
  bool begins_at(std::uint64_t address) const noexcept {
    return address == begin_ || address + sizeof(kEndbr64) == begin_;
  }
  bool is_at(std::uint64_t address) const noexcept { return address == begin_; }

 private:
  std::uint64_t begin_;
};

class Gap {
 public:
  explicit Gap(const CodeGap& gap) noexcept : gap_(gap) {}
  bool begins_at(std::uint64_t address) const noexcept { return gap_.contains(address); }
  bool is_at(std::uint64_t address) const noexcept { return gap_.contains(address); }

 private:
  const CodeGap& gap_;
};

class AnyCode {
 public:
  explicit AnyCode(const unwind::CodeMap& map) noexcept : map_(map) {}
  bool begins_at(std::uint64_t address) const noexcept { return map_.find(address) != nullptr; }
  static bool is_at(std::uint64_t /*address*/) noexcept { return false; }

 private:
  const unwind::CodeMap& map_;
};

// Address at which the code from `begin` on jumps to the callee (tail call); 0: it does not.
template <typename Callee>
std::uint64_t jump_target(const ProcMemory& memory, std::uint64_t begin,
                          const Callee& callee) noexcept {
  constexpr std::size_t kFollowedBytes = 1024;
  constexpr std::uint8_t kJump = 0xe9;
  const Code code(memory, begin, begin + kFollowedBytes);
  for (std::size_t at = 0; code.is_inside(at);) {
    const machine::Instruction instruction = machine::decode_instruction(code.from(at));
    if (instruction.bytes == 0) return 0;
    at += instruction.bytes;
    const bool is_jump = instruction.bytes >= 5 &&
                         ((instruction.is_plain && instruction.opcode == kJump) ||
                          (instruction.is_second && machine::ends_straight_code(instruction)));
    const std::uint64_t target =
        code.address(at) + static_cast<std::uint64_t>(instruction.immediate);
    if (is_jump && callee.is_at(target)) return target;
  }
  return 0;
}

// The callee's address if the call's target is the callee, a PLT entry for it, or a function that
// ends in a jump to it; else 0.
template <typename Callee>
std::uint64_t follow(const ProcMemory& memory, std::uint64_t target,
                     const Callee& callee) noexcept {
  if (target == 0 || callee.begins_at(target)) return target;
  const std::uint64_t behind_plt = plt_target(memory, target);
  if (behind_plt != 0 && callee.begins_at(behind_plt)) return behind_plt;
  return jump_target(memory, target, callee);
}

template <typename Callee>
CallSite find_call(const ProcMemory& memory, std::uint64_t return_address,
                   const Callee& callee) noexcept {
  constexpr std::size_t kBefore = 7;
  std::uint8_t code[kBefore + machine::kLongestInstruction];
  if (return_address < kBefore) return {};
  if (!read_code(memory, return_address - kBefore, code)) return {};
  const auto behind = [return_address](std::int64_t offset) {
    return return_address + static_cast<std::uint64_t>(offset);
  };
  for (const std::size_t length : {5u, 6u, 2u, 3u, 4u, 7u}) {
    const std::span<const std::uint8_t> here =
        std::span(code).subspan(kBefore - length, machine::kLongestInstruction);
    const machine::Instruction call = machine::decode_instruction(here);
    if (call.bytes != length || !call.is_plain) continue;
    std::uint64_t target = 0;
    if (here[0] == 0xe8) {  // call rel32
      target = follow(memory, behind(call.immediate), callee);
    } else if (here[0] == 0xff && here[1] == 0x15) {  // call *slot(%rip)
      target = follow(memory, read_pointer(memory, behind(call.displacement)), callee);
    } else if (here[0] == 0xff && (here[1] & 0x38) == 0x10) {
      return {.kind = CallSite::Kind::kComputed};
    }
    if (target != 0) return {.kind = CallSite::Kind::kDirect, .target = target};
  }
  return {};
}

}  // namespace

CallSite find_call_of(const ProcMemory& memory, std::uint64_t return_address,
                      std::uint64_t function) noexcept {
  return find_call(memory, return_address, Function(function));
}

bool follows_call(const ProcMemory& memory, const unwind::CodeMap& map,
                  std::uint64_t return_address) noexcept {
  return find_call(memory, return_address, AnyCode(map)).kind != CallSite::Kind::kNone;
}

CallSite find_call_into(const ProcMemory& memory, std::uint64_t return_address,
                        const CodeGap& gap) noexcept {
  return find_call(memory, return_address, Gap(gap));
}

}  // namespace swipr::agent
