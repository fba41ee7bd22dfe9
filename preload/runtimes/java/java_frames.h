// Java frames as tokens. Java frames alternate with native ones on one stack, so no splice is
// needed: the walk of the stack asks, for each pc, whether JavaRuntime::code contains it, and steps
// with JavaStepper instead of its own rules:
//   while (java.code.contains(registers.pc)) status = stepper.step(registers, token);
// kJava: `token` is the frame's. kStub: a frame without a name of its own, step on. kEntry: the
// frame through which native code called Java; the registers are those of that native code, with
// which the native walk goes on. A first frame inside the code has `exact`, and r13 in `bytecode`;
// after native frames both are unset, and `frame` must be known. All else ends the walk. A blocked
// thread needs no registers: walk_java_thread follows what the VM keeps of each transition from
// Java to native code.
//
// Everything that is read may be garbage: a thread is interrupted anywhere, and from outside it may
// be running meanwhile. Hence stack pointers must rise, and every loop is counted.
//
// `Reader`: ProbedObjects in the handler, ObjectPieces on the control thread (object_reader.h).
// Context: signal handler (only for the calling thread) or control thread.  Allocates: never.
// Errno: kept.  Bounds: see the constants.
// Source: src/hotspot/cpu/x86/frame_x86.hpp, 17 to 25 (x86-64 only).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/core/range.h"
#include "common/core/signal_safe.h"
#include "preload/runtimes/java/java_code.h"
#include "preload/runtimes/java/java_layout.h"
#include "preload/runtimes/java/java_threads.h"
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

enum class JavaStep : std::uint8_t { kJava, kStub, kEntry, kUnreadable, kInvalid };

enum class JavaWalkEnd : std::uint8_t {
  kRoot,        // the thread's outermost Java frame; no tokens: it runs no Java
  kCut,         // kMaxJavaFrames
  kUnreadable,  // a frame cannot be read, or too many pages were asked about
  kInvalid,     // what should be a frame is none
};

template <typename Reader>
class JavaStepper {
 public:
  JavaStepper(const JavaRuntime& java, Reader& reader) noexcept : java_(java), reader_(reader) {}

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
    if (!reader_.read_value(frame, registers.frame) ||
        !reader_.read_value(frame + kWord, registers.pc)) {
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
    if (!reader_.read_value(frame - kBelow, slots)) return JavaStep::kUnreadable;
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
      token.position = static_cast<std::uint32_t>(registers.pc - blob.code);
      if (!read_java_code_fingerprint(java_, reader_, blob.address, token.fingerprint)) {
        return JavaStep::kUnreadable;
      }
    }
    const bool has_stepped = registers.exact && step_first(blob, registers);
    if (!has_stepped && !step_frame(blob, registers)) {
      return blob.frame_words == 0 ? JavaStep::kInvalid : JavaStep::kUnreadable;
    }
    return blob.is_method ? JavaStep::kJava : JavaStep::kStub;
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
    return reader_.read_value(registers.stack - 2 * kWord, registers.frame) &&
           reader_.read_value(registers.stack - kWord, registers.pc);
  }

  // Where the first frame's code has not made its frame, or has left it. False: it has one.
  bool step_first(const JavaBlob& blob, JavaRegisters& registers) noexcept {
    std::array<std::uint8_t, 16> code{};
    if (!reader_.read_value(registers.pc, code)) return false;
    const bool is_in_prologue = registers.pc < blob.code + blob.frame_complete;
    if (is_in_prologue && is_frame_pointer_stored(code)) {  // sub rsp, N has run, that has not
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
    if (!reader_.read_value(registers.stack, registers.pc)) return false;
    registers.stack += kWord;
    return true;
  }
  bool pop_frame(JavaRegisters& registers) noexcept {
    if (!reader_.read_value(registers.stack, registers.frame)) return false;
    registers.stack += kWord;
    return pop_pc(registers);
  }
  // Stubs: their caller's address is on top, or above the frame pointer, which they push first.
  bool step_frameless(JavaRegisters& registers) noexcept {
    std::uint64_t top = 0;
    if (!reader_.read_value(registers.stack, top)) return false;
    if (java_.code.contains(top)) return pop_pc(registers);
    return registers.frame <= registers.stack + kMaxInterpreterFrame &&
           step_by_frame_pointer(registers);
  }

  const JavaRuntime& java_;
  Reader& reader_;
};

// The Java frame from which native code was called. False: unreadable; stack 0: Java is not below.
template <typename Reader>
SWIPR_SIGNAL_SAFE bool read_java_anchor(const JavaRuntime& java, Reader& reader,
                                        std::uint64_t anchor, JavaRegisters& out) noexcept {
  const JavaLayout& layout = java.layout;
  out = {};
  if (!reader.read_value(anchor + layout.anchor_stack, out.stack)) return false;
  if (out.stack == 0) return true;
  return reader.read_value(anchor + layout.anchor_pc, out.pc) &&
         reader.read_value(anchor + layout.anchor_frame, out.frame) &&
         (out.pc != 0 || reader.read_value(out.stack - sizeof out.pc, out.pc));
}

template <typename Reader>
class JavaWalk {
 public:
  JavaWalk(const JavaRuntime& java, Reader& reader, TokenBuffer& tokens) noexcept
      : java_(java), reader_(reader), tokens_(tokens), stepper_(java, reader) {}

  JavaWalkEnd run(std::uint64_t java_thread) noexcept {
    tokens_.clear();
    const JavaWalkEnd end = walk(java_thread);
    tokens_.finish(end == JavaWalkEnd::kRoot);
    return end;
  }

 private:
  JavaWalkEnd walk(std::uint64_t java_thread) noexcept {
    JavaRegisters registers;
    if (!read_java_anchor(java_, reader_, java_thread + java_.layout.thread_anchor, registers)) {
      return JavaWalkEnd::kUnreadable;
    }
    for (unsigned count = 0; count < kMaxJavaFrames; ++count) {
      if (registers.stack == 0) return JavaWalkEnd::kRoot;
      if (!java_.code.contains(registers.pc)) return JavaWalkEnd::kInvalid;
      const std::uint64_t frame = registers.frame;
      const std::uint64_t stack = registers.stack;
      Token token;
      switch (stepper_.step(registers, token)) {
        case JavaStep::kJava:
          tokens_.add(token);
          break;
        case JavaStep::kStub:
          break;
        case JavaStep::kEntry:
          if (!follow_entry(frame, registers)) return JavaWalkEnd::kUnreadable;
          if (registers.stack != 0 && registers.stack <= stack) return JavaWalkEnd::kInvalid;
          break;
        case JavaStep::kUnreadable:
          return JavaWalkEnd::kUnreadable;
        case JavaStep::kInvalid:
          return JavaWalkEnd::kInvalid;
      }
    }
    return JavaWalkEnd::kCut;
  }

  // The frame that calls Java has a pointer to a JavaCallWrapper, with the anchor as it was.
  bool follow_entry(std::uint64_t frame, JavaRegisters& registers) noexcept {
    constexpr std::uint64_t kWrapperBelow = 6 * sizeof(std::uint64_t);
    std::uint64_t wrapper = 0;
    return reader_.read_value(frame - kWrapperBelow, wrapper) &&
           read_java_anchor(java_, reader_, wrapper + java_.layout.wrapper_anchor, registers);
  }

  const JavaRuntime& java_;
  Reader& reader_;
  TokenBuffer& tokens_;
  JavaStepper<Reader> stepper_;
};

// Fills `tokens` with the Java frames of a blocked thread, which is_java_thread has confirmed: all
// of them, without the native frames between. Of a thread that runs Java the anchor is outdated.
template <typename Reader>
SWIPR_SIGNAL_SAFE JavaWalkEnd walk_java_thread(const JavaRuntime& java, Reader& reader,
                                               std::uint64_t java_thread,
                                               TokenBuffer& tokens) noexcept {
  return JavaWalk<Reader>(java, reader, tokens).run(java_thread);
}

// Compiled once, into swipr_runtime_frames and swipr_runtime_names.
extern template class JavaStepper<ProbedObjects>;
extern template class JavaStepper<ObjectPieces>;
extern template JavaWalkEnd walk_java_thread(const JavaRuntime&, ProbedObjects&, std::uint64_t,
                                             TokenBuffer&) noexcept;
extern template JavaWalkEnd walk_java_thread(const JavaRuntime&, ObjectPieces&, std::uint64_t,
                                             TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
