// Steps of JavaStepper that depend on the machine: the first frame of a stack, whose code may not
// have made its frame yet, or has left it, and stubs. aarch64: `bl` leaves the return address in
// x30.
// Context: as java_frames.h.
// Source: src/hotspot/cpu/aarch64, macroAssembler_aarch64.cpp (build_frame, remove_frame,
// safepoint_poll), 8 to 27.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/runtimes/java/java_frame_steps.h"

namespace swipr::runtimes {

// The words of an interpreted frame below the frame pointer, and above. `extended_stack` is since
// 20, before there was a word that kept the stack aligned. Source: frame_aarch64.hpp and
// TemplateInterpreterGenerator::generate_fixed_frame, 9 to 27.
struct JavaInterpretedFrame {
  static constexpr std::uint64_t kWordsBelow = 9;
  std::uint64_t bytecode, locals, cache, mirror, extended_stack, profile, method, last_stack,
      sender_stack;
  std::uint64_t saved_frame, return_address;

  // Until 8 there was no mirror, so that the words below it were higher.
  std::uint64_t bytecode_without_mirror() const noexcept { return cache; }
};

template <typename Reader, typename Stack>
class JavaFirstFrame : protected JavaFrameSteps<Reader, Stack> {
 protected:
  using Steps = JavaFrameSteps<Reader, Stack>;
  using Steps::java_, Steps::reader_, Steps::stack_, Steps::step_by_frame_pointer;
  using Steps::kWord;
  using Steps::Steps;

  // Of an interpreted frame; `sender`: the stack pointer of its caller, as the frame has it. That
  // of an interpreted caller is below what its expressions use, so that callees' frames are above
  // it. 0: it is none.
  std::uint64_t caller_stack(std::uint64_t frame, std::uint64_t sender,
                             std::uint64_t return_address) const noexcept {
    if (java_.interpreter.contains(return_address)) return frame + 2 * kWord;
    return sender > frame ? sender : 0;
  }

  // Where the first frame's code has not made its frame, or has left it. False: it has one.
  bool step_first(const JavaBlob& blob, JavaRegisters& registers) noexcept {
    std::array<std::uint32_t, 5> code{};
    if (!reader_.read_value(registers.pc, code)) return false;
    if (blob.frame_words == 0) return step_frameless(blob, registers);
    if (registers.pc < blob.code + blob.frame_complete) {
      switch (part_made(blob.code, registers.pc)) {
        case Part::kNothing:
          return return_by_link(0, registers);
        case Part::kStack:
          return blob.frame_words <= kMaxJavaFrameWords &&
                 return_by_link(blob.frame_words * kWord, registers);
        case Part::kPair:
          return pop_pair(registers);
        case Part::kAll:
          return false;
      }
    }
    if (code[0] == kLoadPair) return pop_pair(registers);
    return is_before_return(code) && return_by_link(0, registers);
  }

  // Stubs that have called something keep a frame pointer.
  bool step_stub(JavaRegisters& registers) noexcept {
    return registers.frame <= registers.stack + kMaxInterpreterFrame &&
           step_by_frame_pointer(registers);
  }

 private:
  static constexpr std::uint32_t kReturn = 0xd65f03c0;
  static constexpr std::uint32_t kStorePair = 0xa9bf7bfd;  // stp x29, x30, [sp, #-16]!
  static constexpr std::uint32_t kLoadPair = 0xa8c17bfd;   // ldp x29, x30, [sp], #16

  static bool takes_stack(std::uint32_t code) noexcept {  // sub sp, sp, #N or sub sp, sp, x8
    return (code & 0xff8003ff) == 0xd10003ff || code == 0xcb2863ff;
  }
  static bool stores_pair(std::uint32_t code) noexcept {  // stp x29, x30, [sp, #N]
    return (code & 0xffc07fff) == 0xa9007bfd;
  }

  // Of the frame. kStack: small frames take the stack first; kPair: large ones store both
  // registers first.
  enum class Part : std::uint8_t { kNothing, kStack, kPair, kAll };
  Part part_made(std::uint64_t begin, std::uint64_t pc) noexcept {
    constexpr std::uint64_t kSeen = 64;  // instructions that make a frame are among the last
    Part part = Part::kNothing;
    if (pc < begin || (pc - begin) % sizeof(std::uint32_t) != 0) return Part::kAll;
    for (std::uint64_t at = pc - begin < kSeen ? begin : pc - kSeen; at < pc;
         at += sizeof(std::uint32_t)) {
      std::uint32_t code = 0;
      if (!reader_.read_value(at, code)) return Part::kAll;
      if (code == kStorePair) part = Part::kPair;
      if (takes_stack(code)) part = part == Part::kNothing ? Part::kStack : Part::kAll;
      if (stores_pair(code)) part = Part::kAll;
    }
    return part;
  }

  // ret, or the question about safepoints before it, when the frame has been left.
  static bool is_before_return(const std::array<std::uint32_t, 5>& code) noexcept {
    for (const std::uint32_t instruction : code) {
      if (instruction == kReturn) return true;
      const bool is_question = (instruction & 0xffc003ff) == 0xf9400388 ||  // ldr x8, [x28, #N]
                               instruction == 0xeb2863ff ||                 // cmp sp, x8
                               (instruction & 0xff00001f) == 0x54000008 ||  // b.hi
                               (instruction & 0x9f00001f) == 0x90000008 ||  // adrp x8
                               (instruction & 0xffc003ff) == 0xb940011f;    // ldr wzr, [x8, #N]
      if (!is_question) return false;
    }
    return false;
  }

  bool return_by_link(std::uint64_t bytes, JavaRegisters& registers) noexcept {
    if (registers.link == 0) return false;
    registers.pc = registers.link;
    registers.stack += bytes;
    return true;
  }
  bool pop_pair(JavaRegisters& registers) noexcept {
    if (!stack_.read_value(registers.stack, registers.frame) ||
        !stack_.read_value(registers.stack + kWord, registers.pc)) {
      return false;
    }
    registers.stack += 2 * kWord;
    return true;
  }

  // Stubs: the return address is in x30, unless they have called something. Then, or if they are
  // going to, they have stored both registers first.
  bool step_frameless(const JavaBlob& blob, JavaRegisters& registers) noexcept {
    std::uint64_t stored = 0;
    const bool is_near = registers.frame % kWord == 0 && registers.frame >= registers.stack &&
                         registers.frame - registers.stack < kMaxInterpreterFrame;
    const bool is_stored =
        is_near && stack_.read_value(registers.frame + kWord, stored) && stored == registers.link;
    const bool is_own = find_java_blob(java_, reader_, registers.link) == blob.address;
    return is_stored || is_own ? step_stub(registers) : return_by_link(0, registers);
  }
};

}  // namespace swipr::runtimes
