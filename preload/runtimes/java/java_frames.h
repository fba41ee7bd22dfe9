// Java frames as tokens. Java frames alternate with native ones on one stack, so no splice is
// needed: the walk of the stack asks, for each pc, whether JavaRuntime::code contains it, and steps
// with JavaStepper instead of its own rules (java_stack.h):
//   while (java.code.contains(registers.pc)) status = stepper.step(registers, token);
// kJava: `token` is the frame's. kStub: a frame without a name of its own, step on. kHidden: the
// same, and frames of a virtual thread are missing there. kEntry: the
// frame through which native code called Java; the registers are those of that native code, with
// which the native walk goes on. A first frame inside the code has `exact`, and r13 in `bytecode`;
// after native frames both are unset, and `frame` must be known. All else ends the walk.
//
// Everything that is read may be garbage: a thread is interrupted anywhere, and from outside it may
// be running meanwhile. Hence stack pointers must rise, and every loop is counted.
//
// `Reader`: ProbedObjects in the handler, ObjectPieces on the control thread (object_reader.h).
// Context: signal handler (only for the calling thread) or control thread.  Allocates: never.
// Errno: kept.  Bounds: see the constants.
// Source: src/hotspot/cpu/x86/frame_x86.hpp, 11 to 25 (x86-64 only).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/core/range.h"
#include "common/core/signal_safe.h"
#include "preload/runtimes/java/java_code.h"
#include "preload/runtimes/java/java_layout.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"

namespace swipr::runtimes {

inline constexpr unsigned kMaxJavaFrames = 4096;              // steps of one walk
inline constexpr std::uint64_t kMaxInterpreterFrame = 4096;   // bytes below the frame pointer
inline constexpr std::uint64_t kMaxJavaFrameWords = 1 << 16;  // of compiled code

struct JavaRegisters {
  std::uint64_t pc = 0;
  std::uint64_t stack = 0;
  std::uint64_t frame = 0;
  std::uint64_t bytecode =
      0;               // r13 of the first frame: the interpreter's next bytecode; 0: unknown
  bool exact = false;  // pc is where the thread is, not a return address
};

enum class JavaStep : std::uint8_t { kJava, kStub, kHidden, kEntry, kUnreadable, kInvalid };

// `Stack` reads the thread's stack, `Reader` everything else.
template <typename Reader, typename Stack = Reader>
class JavaStepper {
 public:
  JavaStepper(const JavaRuntime& java,
              Reader& reader) noexcept requires std::is_same_v<Reader, Stack>
      : java_(java), reader_(reader), stack_(reader) {}
  JavaStepper(const JavaRuntime& java, Reader& reader, Stack& stack) noexcept
      : java_(java), reader_(reader), stack_(stack) {}

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
    registers.exact = false;
    registers.bytecode = 0;
    const bool has_moved = registers.stack > stack_before && registers.stack % 8 == 0;
    const bool is_frame = status != JavaStep::kUnreadable && status != JavaStep::kInvalid;
    return is_frame && !has_moved ? JavaStep::kInvalid : status;
  }

 private:
  static constexpr std::uint64_t kWord = 8;

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

  // Before a method's frame is made, the frame pointer is its caller's: the callee is missing then.
  JavaStep step_interpreted(JavaRegisters& registers, Token& token) noexcept {
    struct Slots {  // below the frame pointer, and above
      std::uint64_t bytecode, locals, cache, profile, mirror, method, last_stack, sender_stack;
      std::uint64_t saved_frame, return_address;
    } slots{};
    constexpr std::uint64_t kBelow = 8 * kWord;
    const std::uint64_t frame = registers.frame;
    if (frame % kWord != 0 || frame + 2 * kWord < registers.stack ||
        frame > registers.stack + kMaxInterpreterFrame || frame < kBelow) {
      return JavaStep::kInvalid;
    }
    if (!stack_.read_value(frame - kBelow, slots)) return JavaStep::kUnreadable;
    JavaMethod method;
    if (slots.sender_stack <= frame || !read_java_method(java_, reader_, slots.method, method)) {
      return JavaStep::kInvalid;
    }
    token.code = slots.method;
    token.fingerprint = method.fingerprint;
    token.kind = TokenKind::kJava;
    const bool is_in_register = registers.exact && method.bytecode.contains(registers.bytecode);
    const std::uint64_t bytecode = is_in_register ? registers.bytecode : slots.bytecode;
    if (method.bytecode.contains(bytecode)) {
      token.position = static_cast<std::uint32_t>(bytecode - method.bytecode.begin);
    }
    registers.stack = slots.sender_stack;
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
    const bool is_barrier = !blob.is_method && is_return_barrier(registers);
    const bool has_stepped = registers.exact ? step_first(blob, registers)
                                             : blob.frame_words == 0 && step_stub(registers);
    if (!has_stepped && !step_frame(blob, registers)) {
      return blob.frame_words == 0 ? JavaStep::kInvalid : JavaStep::kUnreadable;
    }
    if (blob.is_method) return JavaStep::kJava;
    return is_barrier ? JavaStep::kHidden : JavaStep::kStub;
  }

  // When a virtual thread runs again, only its innermost frames are on the stack. The last of them
  // returns to a stub, which fetches the next ones from the heap. The entry of the continuation,
  // whose frame pointer is still there, begins at the stack pointer (ContinuationEntry, 56 or 64
  // bytes, aligned to 16: src/hotspot/share/runtime/continuationEntry.hpp).
  bool is_return_barrier(const JavaRegisters& registers) const noexcept {
    constexpr std::uint32_t kFirst = 21;
    constexpr std::uint64_t kEntryBytes = 64;
    return java_.version >= kFirst && !registers.exact &&
           registers.frame == registers.stack + kEntryBytes;
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

  bool step_frame(const JavaBlob& blob, JavaRegisters& registers) noexcept {
    if (blob.frame_words < 2 || blob.frame_words > kMaxJavaFrameWords) return false;
    registers.stack += blob.frame_words * kWord;
    return stack_.read_value(registers.stack - 2 * kWord, registers.frame) &&
           stack_.read_value(registers.stack - kWord, registers.pc);
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

  const JavaRuntime& java_;
  Reader& reader_;
  Stack& stack_;
};

// Compiled once, into swipr_runtime_names.
extern template class JavaStepper<ObjectPieces>;

}  // namespace swipr::runtimes
