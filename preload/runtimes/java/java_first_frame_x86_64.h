// Steps of JavaStepper that depend on the machine: the first frame of a stack, whose code may not
// have made its frame yet, or has left it, and stubs. x86-64: `call` pushes the return address.
// Context: as java_frames.h.
// Source: src/hotspot/cpu/x86, 8 to 27.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/runtimes/java/java_frame_steps.h"

namespace swipr::runtimes {

// The words of an interpreted frame below the frame pointer, and above. Source: frame_x86.hpp, 9 to
// 27.
struct JavaInterpretedFrame {
  static constexpr std::uint64_t kWordsBelow = 8;
  std::uint64_t bytecode, locals, cache, profile, mirror, method, last_stack, sender_stack;
  std::uint64_t saved_frame, return_address;

  // Until 8 there was no mirror, so that the words below it were higher.
  std::uint64_t bytecode_without_mirror() const noexcept { return locals; }
};

template <typename Reader, typename Stack>
class JavaFirstFrame : protected JavaFrameSteps<Reader, Stack> {
 protected:
  using Steps = JavaFrameSteps<Reader, Stack>;
  using Steps::java_, Steps::reader_, Steps::stack_, Steps::step_frame,
      Steps::step_by_frame_pointer;
  using Steps::kWord;
  using Steps::Steps;

  // Of an interpreted frame; `sender`: the stack pointer of its caller, as the frame has it. 0: it
  // is none.
  static std::uint64_t caller_stack(std::uint64_t frame, std::uint64_t sender,
                                    std::uint64_t /*return_address*/) noexcept {
    return sender > frame ? sender : 0;
  }

  // Where the first frame's code has not made its frame, or has left it. False: it has one.
  bool step_first(const JavaBlob& blob, JavaRegisters& registers) noexcept {
    std::array<std::uint8_t, 16> code{};
    if (!reader_.read_value(registers.pc, code)) return false;
    const bool is_in_prologue =
        registers.pc < blob.code + blob.frame_complete && !is_stack_taken(blob.code, registers.pc);
    const bool is_frame_to_store =
        is_frame_pointer_stored(code) && registers.pc < blob.code + blob.frame_complete;
    if (is_frame_to_store) {  // sub rsp, N has run, that has not
      const std::uint64_t frame = registers.frame;
      if (!step_frame(blob, registers)) return false;
      registers.frame = frame;
      return true;
    }
    std::uint8_t before = 0;
    const bool is_pushed = is_in_prologue && reader_.read_value(registers.pc - 1, before) &&
                           before == kPushFrame && code[0] == 0x48 &&
                           (code[1] == 0x83 || code[1] == 0x81 || code[1] == 0x8b);
    if (is_pushed || code[0] == kPopFrame) return pop_frame(registers);
    if (is_in_prologue || is_before_return(code)) return pop_pc(registers);
    return blob.frame_words == 0 && step_frameless(registers);
  }

  static constexpr std::uint8_t kPushFrame = 0x55;  // push rbp
  static constexpr std::uint8_t kPopFrame = 0x5d;   // pop rbp
  static constexpr std::uint8_t kReturn = 0xc3;     // ret
  using Code = std::array<std::uint8_t, 16>;

  // The frame counts as complete only behind the question whether the method may be entered, which
  // follows when the frame is made: sub rsp, N is among the last instructions.
  bool is_stack_taken(std::uint64_t begin, std::uint64_t pc) noexcept {
    std::array<std::uint8_t, 24> code{};
    const std::uint64_t from = pc - begin < code.size() ? begin : pc - code.size();
    const std::size_t size = pc - from;
    if (pc < begin || !reader_.read_value(pc - code.size(), code)) return false;
    for (std::size_t at = code.size() - size; at + 4 <= code.size(); ++at) {
      if (code[at] != 0x48 || code[at + 2] != 0xec) continue;
      if (code[at + 1] == 0x83 || (code[at + 1] == 0x81 && at + 7 <= code.size())) return true;
    }
    return false;
  }
  static bool is_frame_pointer_stored(const Code& code) noexcept {  // mov [rsp + N], rbp
    return code[0] == 0x48 && code[1] == 0x89 && (code[2] == 0x6c || code[2] == 0xac) &&
           code[3] == 0x24;
  }
  // ret, or the question about safepoints before it, when the frame has been left.
  static bool is_before_return(const Code& code) noexcept {
    const auto is_jump = [&code](std::size_t at) {  // ja, six bytes, ret
      return code[at] == 0x0f && code[at + 1] == 0x87 && code[at + 6] == kReturn;
    };
    if (code[0] == kReturn || is_jump(0)) return true;
    const bool compares_stack = code[0] == 0x49 && code[1] == 0x3b;  // cmp rsp, [r15 + N]
    if (compares_stack && code[2] == 0x67) return is_jump(4);
    if (compares_stack && code[2] == 0xa7) return is_jump(7);
    const auto is_test = [&code](std::size_t at) {  // test [r10], eax; ret
      return code[at] == 0x41 && code[at + 1] == 0x85 && code[at + 2] == 0x02 &&
             code[at + 3] == kReturn;
    };
    return is_test(0) || (code[0] == 0x4d && code[1] == 0x8b && code[2] == 0x97 && is_test(7));
  }
  bool pop_pc(JavaRegisters& registers) noexcept {
    if (!stack_.read_value(registers.stack, registers.pc)) return false;
    registers.stack += kWord;
    return true;
  }
  bool pop_frame(JavaRegisters& registers) noexcept {
    if (!stack_.read_value(registers.stack, registers.frame)) return false;
    registers.stack += kWord;
    return pop_pc(registers);
  }
  // Stubs: their caller's address is on top, or above the frame pointer, which they push first.
  bool step_frameless(JavaRegisters& registers) noexcept {
    std::uint64_t top = 0;
    if (!stack_.read_value(registers.stack, top)) return false;
    return java_.code.contains(top) ? pop_pc(registers) : step_stub(registers);
  }
  // The stub that methods call on entry has pushed a word of ones first.
  bool step_stub(JavaRegisters& registers) noexcept {
    if (registers.frame > registers.stack + kMaxInterpreterFrame ||
        !step_by_frame_pointer(registers)) {
      return false;
    }
    return registers.pc != ~std::uint64_t{0} || pop_pc(registers);
  }
};

}  // namespace swipr::runtimes
