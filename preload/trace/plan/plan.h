// How the beginning of a function is replaced by a jump to its probe, and what is executed instead
// of it. Pure: from the bytes of the function to a plan, or to the reason why there is none.
//
//   function:  push %rbp            pushes of one byte stay; the stub removes what they pushed
//              E9 rel32             the patch; before it is there, the gate EB FE
//              …                    the rest is as it was
//   copy:      push %rbp            all instructions up to the first one behind the patch
//              mov %rsp,%rbp …
//              jmp function + end
//
// aarch64: the patch is one instruction, B, the first one behind BTI or PACIASP. These stay,
// because indirect calls have to land on them; the stub undoes PACIASP.
//
// Context: control thread.  Allocates: never.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/range.h"
#include "preload/trace/plan/patch.h"

namespace swipr::trace {

// The code of one FDE.
struct Function {
  std::uint64_t address = 0;
  std::span<const std::uint8_t> code;
  std::uint64_t end() const noexcept { return address + code.size(); }
};

enum class Refusal : std::uint8_t {
  kNone,
  kTooShort,      // it ends, or its straight code does, before the patch would
  kUndecodable,   // an instruction that the decoder does not know
  kOneByteFirst,  // the gate has two bytes: a thread could be between them
  kGateInTwoWords,
  kBranchInto,          // a direct branch leads to its beginning
  kJumpTableInto,       // a jump table leads to its beginning
  kOutsideBranch,       // other code has a branch into its beginning
  kCallInPatch,         // the call would return into the patch
  kSystemCall,          // a thread may wait in it, and return into the patch
  kUnmovable,           // an instruction that can only be executed where it is
  kReadsReturnAddress,  // it would see the thunk's, and may return twice (setjmp, vfork)
  kTooFar,              // the copy does not reach what the function refers to
  kNoFunction,          // no FDE begins there
  kNeededByUnwinding,   // exceptions and the loader use it while stacks are read
  kNeededByHandler,     // swipr's own signal handler calls it
};
inline constexpr std::size_t kRefusalCount = 16;
// What a user reads: "… because " and this.
const char* refusal_text(Refusal refusal) noexcept;

// An instruction of the function and where it is in the copy, both counted from the beginning.
struct MovedInstruction {
  std::uint8_t from = 0;
  std::uint8_t to = 0;
};

struct Plan {
  static constexpr std::size_t kMostMoved = kMostMovedInstructions;
  static constexpr std::size_t kMostCopyBytes = 64;

  std::uint64_t function = 0;
  std::uint8_t patch_at = 0;  // bytes before the patch; x86-64: and the number of pushes
  std::uint8_t end = 0;       // the copy continues here in the function
  std::uint8_t moved_count = 0;
  std::uint8_t copy_bytes = 0;
  std::uint8_t jump_at = 0;  // in the copy: the jump to `end`; copy_bytes: none is needed
  std::array<MovedInstruction, kMostMoved> moved{};

  std::uint64_t patch() const noexcept { return function + patch_at; }
  // Addresses at which no thread may continue once the patch is there.
  Range<std::uint64_t> forbidden() const noexcept {
    return {(kBeginIsForbidden ? function : patch()) + 1, patch() + kJumpBytes};
  }
  // Where a thread that was about to execute `pc` of the function continues in the copy. 0:
  // nowhere.
  std::uint64_t moved_pc(std::uint64_t pc, std::uint64_t copy) const noexcept {
    for (std::size_t index = 0; index < moved_count; ++index) {
      if (pc == function + moved[index].from) return copy + moved[index].to;
    }
    return 0;
  }
  // The address in the function that stands for an address in the copy.
  std::uint64_t original_pc(std::uint64_t pc, std::uint64_t copy) const noexcept;
  // There the copy has pushed the return address of a call, which the function has not yet.
  bool has_pushed_in_copy(std::uint64_t pc, std::uint64_t copy) const noexcept;
};

Refusal make_plan(const Function& function, Plan& plan) noexcept;

// Writes the copy as it is executed at `copy`. kTooFar, or kNone.
Refusal build_copy(const Plan& plan, const Function& function, std::uint64_t copy,
                   std::span<std::uint8_t, Plan::kMostCopyBytes> out) noexcept;

}  // namespace swipr::trace
