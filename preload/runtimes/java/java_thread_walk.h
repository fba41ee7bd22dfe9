// The Java frames of a blocked thread, without its registers: the VM keeps the place of each
// transition from Java to native code.
// `Reader`: as in java_frames.h. Not in handlers: of a thread that runs Java the VM's data is
// outdated.
// Context: control thread.  Allocates: never.  Bounds: kMaxJavaFrames.
#pragma once

#include <cstdint>

#include "preload/runtimes/interpreter_registers.h"
#include "preload/runtimes/java/java_frames.h"
#include "preload/runtimes/java/java_threads.h"

namespace swipr::runtimes {

enum class JavaWalkEnd : std::uint8_t {
  kRoot,        // the thread's outermost Java frame; no tokens: it runs no Java
  kCut,         // kMaxJavaFrames
  kUnreadable,  // a frame cannot be read, or too many pages were asked about
  kInvalid,     // what should be a frame is none
};

// The Java frame from which native code was called. False: unreadable; stack 0: Java is not below.
template <typename Reader>
bool read_java_anchor(const JavaRuntime& java, Reader& reader, std::uint64_t anchor,
                      JavaRegisters& out) noexcept {
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
        case JavaStep::kHidden:
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
    // entry_frame_call_wrapper_offset
    constexpr std::uint64_t kWrapperBelow = (kIsX86_64 ? 6 : 8) * sizeof(std::uint64_t);
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
JavaWalkEnd walk_java_thread(const JavaRuntime& java, Reader& reader, std::uint64_t java_thread,
                             TokenBuffer& tokens) noexcept {
  return JavaWalk<Reader>(java, reader, tokens).run(java_thread);
}

// Compiled once, into swipr_runtime_names.
extern template JavaWalkEnd walk_java_thread(const JavaRuntime&, ObjectPieces&, std::uint64_t,
                                             TokenBuffer&) noexcept;

}  // namespace swipr::runtimes
