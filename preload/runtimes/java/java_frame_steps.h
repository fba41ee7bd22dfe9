// What every step through Java's frames needs, on each machine.
// Context: as java_frames.h.
// Source: src/hotspot/cpu/x86/frame_x86.hpp and src/hotspot/cpu/aarch64/frame_aarch64.hpp, 8
// to 27.
#pragma once

#include <cstdint>
#include <type_traits>

#include "preload/runtimes/java/java_code.h"
#include "preload/runtimes/java/java_layout.h"

namespace swipr::runtimes {

inline constexpr unsigned kMaxJavaFrames = 4096;              // steps of one walk
inline constexpr std::uint64_t kMaxInterpreterFrame = 4096;   // bytes below the frame pointer
inline constexpr std::uint64_t kMaxJavaFrameWords = 1 << 16;  // of compiled code

struct JavaRegisters {
  std::uint64_t pc = 0;
  std::uint64_t stack = 0;
  std::uint64_t frame = 0;
  // Of the first frame only; 0: unknown. The interpreter's next bytecode (r13, x22), and where the
  // machine has it in a register, the return address (x30).
  std::uint64_t bytecode = 0;
  std::uint64_t link = 0;
  bool exact = false;  // pc is where the thread is, not a return address
};

// `Stack` reads the thread's stack, `Reader` everything else.
template <typename Reader, typename Stack>
class JavaFrameSteps {
 protected:
  static constexpr std::uint64_t kWord = 8;

  JavaFrameSteps(const JavaRuntime& java, Reader& reader, Stack& stack) noexcept
      : java_(java), reader_(reader), stack_(stack) {}

  bool step_by_frame_pointer(JavaRegisters& registers) noexcept {
    const std::uint64_t frame = registers.frame;
    if (frame % kWord != 0 || frame < registers.stack) return false;
    if (!stack_.read_value(frame, registers.frame) ||
        !stack_.read_value(frame + kWord, registers.pc)) {
      return false;
    }
    registers.stack = frame + 2 * kWord;
    return true;
  }

  // On both machines the frame's end has the caller's frame pointer and the return address.
  bool step_frame(const JavaBlob& blob, JavaRegisters& registers) noexcept {
    if (blob.frame_words < 2 || blob.frame_words > kMaxJavaFrameWords) return false;
    registers.stack += blob.frame_words * kWord;
    return stack_.read_value(registers.stack - 2 * kWord, registers.frame) &&
           stack_.read_value(registers.stack - kWord, registers.pc);
  }

  const JavaRuntime& java_;
  Reader& reader_;
  Stack& stack_;
};

}  // namespace swipr::runtimes
