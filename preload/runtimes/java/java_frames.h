// Java frames as tokens. Java frames alternate with native ones on one stack, so no splice is
// needed: the walk of the stack asks, for each pc, whether JavaRuntime::code contains it, and steps
// with JavaStepper instead of its own rules (java_stack.h):
//   while (java.code.contains(registers.pc)) status = stepper.step(registers, token);
// kJava: `token` is the frame's. kStub: a frame without a name of its own, step on. kHidden: the
// same, and frames of a virtual thread are missing there. kEntry: the
// frame through which native code called Java; the registers are those of that native code, with
// which the native walk goes on. A first frame inside the code has `exact`, `bytecode` and `link`;
// after native frames these are unset, and `frame` must be known. All else ends the walk.
//
// Everything that is read may be garbage: a thread is interrupted anywhere, and from outside it may
// be running meanwhile. Hence stack pointers must rise, and every loop is counted.
//
// `Reader`: ProbedObjects in the handler, ObjectPieces on the control thread (object_reader.h).
// Context: signal handler (only for the calling thread) or control thread.  Allocates: never.
// Errno: kept.  Bounds: see the constants.
// Source: src/hotspot/cpu/x86/frame_x86.hpp and src/hotspot/cpu/aarch64/frame_aarch64.hpp, 8
// to 27.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/core/range.h"
#include "common/core/signal_safe.h"
#include "preload/runtimes/java/java_code.h"
#include "preload/runtimes/java/java_first_frame.h"
#include "preload/runtimes/java/java_frame_steps.h"
#include "preload/runtimes/java/java_layout.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::runtimes {

enum class JavaStep : std::uint8_t { kJava, kStub, kHidden, kEntry, kUnreadable, kInvalid };

// `Stack` reads the thread's stack, `Reader` everything else.
template <typename Reader, typename Stack = Reader>
class JavaStepper : private JavaFirstFrame<Reader, Stack> {
 public:
  JavaStepper(const JavaRuntime& java,
              Reader& reader) noexcept requires std::is_same_v<Reader, Stack>
      : JavaFirstFrame<Reader, Stack>(java, reader, reader) {}
  JavaStepper(const JavaRuntime& java, Reader& reader, Stack& stack) noexcept
      : JavaFirstFrame<Reader, Stack>(java, reader, stack) {}

  // From a frame in JavaRuntime::code to its caller. Not kJava, kStub, kEntry: both are undefined.
  SWIPR_SIGNAL_SAFE JavaStep step(JavaRegisters& registers, Token& token) noexcept {
    const std::uint64_t stack_before = registers.stack;
    token = {};
    token.mark = stack_before;
    JavaStep status = JavaStep::kEntry;
    if (registers.pc == java_.call_stub_return) {
      if (!step_by_frame_pointer(registers)) return JavaStep::kUnreadable;
    } else if (java_.interpreter.contains(registers.pc)) {
      status = step_interpreted(registers, token);
    } else {
      status = step_blob(registers, token);
    }
    const bool may_stay = registers.exact && !unwind::kReturnAddressIsPushed;
    registers.exact = false;
    registers.bytecode = 0;
    registers.link = 0;
    const bool has_moved =
        registers.stack > stack_before - (may_stay ? 1 : 0) && registers.stack % kWord == 0;
    const bool is_frame = status != JavaStep::kUnreadable && status != JavaStep::kInvalid;
    return is_frame && !has_moved ? JavaStep::kInvalid : status;
  }

 private:
  using Steps = JavaFirstFrame<Reader, Stack>;
  using Steps::caller_stack, Steps::step_by_frame_pointer, Steps::step_first, Steps::step_frame,
      Steps::step_stub;
  using Steps::java_, Steps::reader_, Steps::stack_, Steps::kWord;

  // Before a method's frame is made, the frame pointer is its caller's: the callee is missing then.
  JavaStep step_interpreted(JavaRegisters& registers, Token& token) noexcept {
    JavaInterpretedFrame slots{};
    constexpr std::uint64_t kBelow = JavaInterpretedFrame::kWordsBelow * kWord;
    constexpr std::uint32_t kFirstWithMirror = 9;
    const std::uint64_t frame = registers.frame;
    if (frame % kWord != 0 || frame + 2 * kWord < registers.stack ||
        frame > registers.stack + kMaxInterpreterFrame || frame < kBelow) {
      return JavaStep::kInvalid;
    }
    if (!stack_.read_value(frame - kBelow, slots)) return JavaStep::kUnreadable;
    JavaMethod method;
    if (!read_java_method(java_, reader_, slots.method, method)) {
      return JavaStep::kInvalid;
    }
    token.code = slots.method;
    token.fingerprint = method.fingerprint;
    token.kind = TokenKind::kJava;
    const bool is_in_register = registers.exact && method.bytecode.contains(registers.bytecode);
    const std::uint64_t saved =
        java_.version < kFirstWithMirror ? slots.bytecode_without_mirror() : slots.bytecode;
    const std::uint64_t bytecode = is_in_register ? registers.bytecode : saved;
    if (method.bytecode.contains(bytecode)) {
      token.position = static_cast<std::uint32_t>(bytecode - method.bytecode.begin);
    }
    registers.stack = caller_stack(frame, slots.sender_stack, slots.return_address);
    registers.frame = slots.saved_frame;
    registers.pc = slots.return_address;
    return JavaStep::kJava;
  }

  JavaStep step_blob(JavaRegisters& registers, Token& token) noexcept {
    JavaBlob blob;
    blob.address = find_java_blob(java_, reader_, registers.pc);
    if (blob.address == 0) return JavaStep::kInvalid;
    if (!read_blob(blob)) return JavaStep::kUnreadable;
    if (blob.is_method) {
      token.kind = TokenKind::kJavaCompiled;
      token.code = blob.address;
      token.position =
          static_cast<std::uint32_t>(original_pc(blob.address, blob.code, registers) - blob.code);
      if (!read_java_code_fingerprint(java_, reader_, blob.address, token.fingerprint)) {
        return JavaStep::kUnreadable;
      }
    }
    const bool is_barrier = !blob.is_method && passes_return_barrier(registers);
    const bool has_stepped = registers.exact ? step_first(blob, registers)
                                             : blob.frame_words == 0 && step_stub(registers);
    if (!has_stepped && !step_frame(blob, registers)) {
      return blob.frame_words == 0 ? JavaStep::kInvalid : JavaStep::kUnreadable;
    }
    if (blob.is_method) return JavaStep::kJava;
    return is_barrier ? JavaStep::kHidden : JavaStep::kStub;
  }

  // When a virtual thread runs again, only its innermost frames are on the stack. The last of them
  // returns to a stub, which fetches the next ones from the heap. The entry of the continuation
  // begins at the stack pointer (ContinuationEntry, 56 or 64 bytes, aligned to 16:
  // src/hotspot/share/runtime/continuationEntry.hpp); the frame pointer is that of its function.
  // The innermost frames have saved it until 27; later versions describe the stub.
  bool passes_return_barrier(JavaRegisters& registers) const noexcept {
    constexpr std::uint32_t kFirst = 21;
    constexpr std::uint64_t kEntryBytes = 64;
    if (java_.version < kFirst || registers.exact) return false;
    const std::uint64_t entry_frame = registers.stack + kEntryBytes;
    if (java_.return_barrier == 0) return registers.frame == entry_frame;
    if (registers.pc != java_.return_barrier) return false;
    registers.frame = entry_frame;
    return true;
  }

  // Of a frame that is to be interpreted further (its code is no longer valid) the VM replaces the
  // return address by that of a stub, and keeps it in the frame.
  std::uint64_t original_pc(std::uint64_t blob, std::uint64_t code,
                            const JavaRegisters& registers) noexcept {
    std::uint32_t stub = 0;
    std::uint32_t place = 0;
    std::uint64_t original = 0;
    const bool is_replaced = !registers.exact &&
                             reader_.read_value(blob + java_.layout.nmethod_stub, stub) &&
                             registers.pc >= blob + stub &&
                             reader_.read_value(blob + java_.layout.nmethod_original_pc, place) &&
                             place < kMaxJavaFrameWords * kWord && place % kWord == 0 &&
                             stack_.read_value(registers.stack + place, original) &&
                             Range<std::uint64_t>{code, blob + stub}.contains(original);
    return is_replaced ? original : registers.pc;
  }

  bool read_blob(JavaBlob& blob) noexcept {
    std::uint64_t name = 0;
    std::array<char, 7> text{};
    std::int16_t complete = 0;
    if (!reader_.read_value(blob.address + java_.layout.blob_name, name) ||
        !reader_.read_value(name, text) ||
        !reader_.read_value(blob.address + java_.layout.blob_frame_words, blob.frame_words) ||
        !reader_.read_value(blob.address + java_.layout.blob_frame_complete, complete) ||
        !read_java_code_begin(java_, reader_, blob.address, blob.code)) {
      return false;
    }
    blob.frame_complete = complete > 0 ? static_cast<std::uint32_t>(complete) : 0;
    blob.is_method = std::memcmp(text.data(), "nmethod", text.size()) == 0 ||
                     std::memcmp(text.data(), "native ", text.size()) == 0;
    return true;
  }
};

// Compiled once, into swipr_runtime_names.
extern template class JavaStepper<ObjectPieces>;

}  // namespace swipr::runtimes
