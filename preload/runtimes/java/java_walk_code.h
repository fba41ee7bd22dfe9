// Java's code as a WalkLoop steps through it. LuaJIT's shares it, so that there is one loop of each
// kind (3 KiB) for both.
// Context: signal handler or control thread.  Allocates: never.  Errno: kept.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/core/signal_safe.h"
#include "preload/runtimes/interpreter_registers.h"
#include "preload/runtimes/java/java_frames.h"
#include "preload/runtimes/java/java_stack.h"
#include "preload/runtimes/luajit/luajit_frames.h"
#include "preload/unwind/walk/step.h"

namespace swipr::runtimes {

// The stack for JavaStepper, through a reader of words.
template <typename Words>
class JavaStackWords {
 public:
  explicit JavaStackWords(Words& words) noexcept : words_(words) {}

  template <typename T>
  bool read_value(std::uint64_t address, T& out) noexcept {
    constexpr std::size_t kWordBytes = 8;
    static_assert(sizeof(T) % kWordBytes == 0);
    std::array<std::uint64_t, sizeof(T) / kWordBytes> read{};
    for (std::uint64_t& word : read) {
      if (!words_.read_word(address, word)) return false;
      address += kWordBytes;
    }
    out = std::bit_cast<T>(read);
    return true;
  }

 private:
  Words& words_;
};

// `Objects` and `Words`: readers of everything but the stack, and of the stack.
template <typename Objects, typename Words>
class JavaWalkCode {
 public:
  JavaWalkCode(const JavaRuntime& java, Objects& objects, Words& words, TokenBuffer& tokens,
               LuaJitWalk* luajit) noexcept
      : java_(&java), objects_(&objects), words_(&words), tokens_(&tokens), luajit_(luajit) {}

  bool contains(std::uint64_t pc) const noexcept {
    return luajit_ != nullptr ? luajit_->contains(pc) : java_->code.contains(pc);
  }
  bool has_tables(std::uint64_t pc) const noexcept {
    return luajit_ != nullptr && luajit_->has_tables(pc);
  }

  SWIPR_SIGNAL_SAFE unwind::StepStatus step(unwind::Registers& registers, bool exact) noexcept {
    using unwind::StepStatus;
    if (luajit_ != nullptr) {
      return luajit_->step(registers, exact, {words_->stack_reader(), {&read_objects, objects_}});
    }
    if (steps_left_ == 0) return StepStatus::kNoRule;
    --steps_left_;
    const bool knows_frame = registers.knows(unwind::kFrameRegister);
    const bool knows_bytecode = exact && registers.knows(kJavaBytecodeRegister);
    const bool knows_link =
        exact && !unwind::kReturnAddressIsPushed && registers.knows(unwind::kBaseRegister);
    JavaRegisters at{.pc = registers.values[unwind::kPcRegister],
                     .stack = registers.values[unwind::kStackRegister],
                     .frame = knows_frame ? registers.values[unwind::kFrameRegister] : 0,
                     .bytecode = knows_bytecode ? registers.values[kJavaBytecodeRegister] : 0,
                     .link = knows_link ? registers.values[unwind::kBaseRegister] : 0,
                     .exact = exact};
    JavaStackWords<Words> stack(*words_);
    Token token;
    const JavaStep found =
        JavaStepper<Objects, JavaStackWords<Words>>(*java_, *objects_, stack).step(at, token);
    if (found == JavaStep::kUnreadable || found == JavaStep::kInvalid) {
      if (!knows_frame) return StepStatus::kUnknownRegister;
      return found == JavaStep::kInvalid ? StepStatus::kNoRule : StepStatus::kUnreadable;
    }
    if (found != JavaStep::kJava) {
      token.kind = found == JavaStep::kHidden ? TokenKind::kJavaHidden : TokenKind::kJavaStub;
    }
    tokens_->add(token);
    registers.values[unwind::kPcRegister] = at.pc;
    registers.values[unwind::kStackRegister] = at.stack;
    registers.values[unwind::kFrameRegister] = at.frame;
    // Every frame saves the frame pointer, except those of stubs, which keep it. Java's code uses
    // the other registers as it likes.
    registers.known = unwind::bit_of(unwind::kPcRegister) | unwind::bit_of(unwind::kStackRegister);
    if (knows_frame || found == JavaStep::kJava)
      registers.known |= unwind::bit_of(unwind::kFrameRegister);
    return StepStatus::kOk;
  }

 private:
  static bool read_objects(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    return static_cast<Objects*>(state)->read(address, out);
  }

  const JavaRuntime* java_;
  Objects* objects_;
  Words* words_;
  TokenBuffer* tokens_;
  LuaJitWalk* luajit_;  // nullptr: Java
  unsigned steps_left_ = kMaxJavaSteps;
};

}  // namespace swipr::runtimes
