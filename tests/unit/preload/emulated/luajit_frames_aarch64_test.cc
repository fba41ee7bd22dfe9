// A state of LuaJIT in memory, with a function that the main chunk has called.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "preload/runtimes/luajit/luajit_frames.h"

namespace swipr::runtimes {
namespace {

struct Function {
  LuaJitFunction head;
  LuaJitCode code;
  std::array<std::uint32_t, 8> instructions;
};

struct Machine {
  std::array<std::uint32_t, 64> code;
  LuaJitThread thread;
  std::array<std::uint64_t, 64> global;
  std::array<Function, 2> functions;
  std::array<std::uint64_t, 32> values;
};

constexpr std::uint64_t kOutside = 0x1234'5678;
constexpr std::uint64_t kOuterFrame = 0x7'0000;
constexpr std::size_t kCallThatSaves = 30;  // its return address, an index of the code
constexpr std::size_t kOtherCall = 60;
constexpr std::size_t kBegin = 40;
constexpr std::uint64_t kCalledFrom = 3;  // the operand of the call

std::uint64_t address(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

bool read_word(void*, std::uint64_t at, std::uint64_t& out) noexcept {
  std::memcpy(&out, reinterpret_cast<const void*>(at), sizeof out);
  return true;
}
bool read_bytes(void*, std::uint64_t at, std::span<std::byte> out) noexcept {
  if (at < 0x10'0000) return false;
  std::memcpy(out.data(), reinterpret_cast<const void*>(at), out.size());
  return true;
}

class LuaJitFramesOfAarch64 : public ::testing::Test {
 protected:
  ~LuaJitFramesOfAarch64() override { ::munmap(machine, sizeof *machine); }

  // Addresses of objects have 47 bits.
  static Machine* map_machine() {
    void* const low = reinterpret_cast<void*>(0x20'0000'0000);
    void* const mapped = ::mmap(low, sizeof(Machine), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return mapped == low ? new (mapped) Machine{} : nullptr;
  }

  void SetUp() override {
    ASSERT_NE(machine, nullptr);
    machine->code[kCallThatSaves - 4] = 0xf90012f3;  // str x19, [x23, 32]
    machine->code[kCallThatSaves - 2] = 0xf90007f5;  // str x21, [sp, 8]
    machine->code[kBegin - 1] = 0xd65f03c0;          // ret
    machine->code[kBegin] = 0xd10343ff;              // sub sp, sp, 208
    machine->code[kBegin + 1] = 0xa90c7bfd;          // stp x29, x30, [sp, 192]
    machine->global[kLuaJitMainThread / 8] = address(&machine->thread);
    for (Function& function : machine->functions) {
      function.head.type = kLuaJitFunctionType;
      function.head.instructions = address(&function.instructions);
      function.code.type = kLuaJitCodeType;
      function.code.instruction_count = 8;
      function.instructions.fill(kCalledFrom << 8);
    }
    values[2] = address(&machine->functions[0]);
    values[3] = 2 * 8 | 1;  // called from C
    values[4 + kCalledFrom] = address(&machine->functions[1]);
    values[5 + kCalledFrom] = address(&machine->functions[0].instructions[5]);
    base = address(&values[6 + kCalledFrom]);
    next = address(&machine->functions[1].instructions[3]);
    native[16 / 8] = address(&machine->thread);
    native[8 / 8] = next;
    native[192 / 8] = kOuterFrame;
    native[200 / 8] = kOutside;
    LuaJitThread& thread = machine->thread;
    thread.type = kLuaJitThread;
    thread.global = address(&machine->global);
    thread.base = base;
    thread.stack_end = address(values.end());
    thread.stack = address(values.data());
    thread.native_frame = address(native);
    registers.values[unwind::kStackRegister] = address(native);
    registers.values[unwind::kFrameRegister] = address(native) + 192;
  }

  std::uint64_t code_at(std::size_t index) const { return address(&machine->code[index]); }

  unwind::StepStatus step(std::uint64_t pc, bool exact) {
    registers.values[unwind::kPcRegister] = pc;
    registers.known = exact ? unwind::kAllRegisters : unwind::kCallersRegisters;
    return step();
  }
  unwind::StepStatus step() {
    const std::array ranges = {unwind::CodeRange{.start = 1, .end = ~std::uint64_t{0}}};
    const unwind::CodeMap map(ranges);
    const LuaRuntime lua{.loop = {code_at(0), code_at(64)}, .is_jit = true};
    LuaJitWalk walk(lua, map, tokens.get(), first_stack);
    tokens->clear();
    const bool exact = registers.knows(kLuaJitBaseRegister);
    const unwind::StepStatus status =
        walk.step(registers, exact, {{&read_word, nullptr}, {&read_bytes, nullptr}});
    tokens->finish(true);
    return status;
  }
  void keep(std::uint64_t held_base, std::uint64_t held_next) {
    registers.values[kLuaJitBaseRegister] = held_base;
    registers.values[kLuaJitInstructionRegister] = held_next;
  }
  // Of the main chunk, and the function, which is at that instruction.
  void expect_calls(std::uint32_t position) {
    ASSERT_EQ(tokens->tokens().size(), 2u);
    EXPECT_EQ(tokens->tokens()[0].code, address(&machine->functions[1].code));
    EXPECT_EQ(tokens->tokens()[0].position, position);
    EXPECT_EQ(tokens->tokens()[1].code, address(&machine->functions[0].code));
    EXPECT_EQ(tokens->tokens()[1].position, 4u);
    EXPECT_EQ(tokens->tokens()[1].flags & kTokenEndsLoop, kTokenEndsLoop);
    EXPECT_EQ(tokens->tokens()[1].mark, address(native) + 200);
  }
  void expect_caller(std::uint64_t stack, std::uint64_t frame) {
    EXPECT_EQ(registers.values[unwind::kPcRegister], kOutside);
    EXPECT_EQ(registers.values[unwind::kStackRegister], stack);
    EXPECT_EQ(registers.values[unwind::kFrameRegister], frame);
    EXPECT_EQ(registers.known, unwind::kCallersRegisters);
  }

  Machine* const machine = map_machine();
  decltype(Machine::values)& values = machine->values;
  alignas(16) std::uint64_t native[26 + 64] = {};
  std::uint64_t base = 0;
  std::uint64_t next = 0;
  std::uint64_t first_stack = ~std::uint64_t{0};
  unwind::Registers registers;
  std::unique_ptr<TokenBuffer> tokens = std::make_unique<TokenBuffer>();
};

TEST_F(LuaJitFramesOfAarch64, HaveTheirBaseInARegister) {
  machine->thread.base = address(&values[4]);  // saved before the call
  keep(base, next);
  EXPECT_EQ(step(code_at(10), true), unwind::StepStatus::kOk);
  expect_calls(2);
  expect_caller(address(native) + 208, kOuterFrame);
}

TEST_F(LuaJitFramesOfAarch64, AreTheirCallersWhileResultsAreCopied) {
  machine->thread.base = 0;
  values[4 + kCalledFrom] = values[5 + kCalledFrom] = 0;  // two results, over function and link
  keep(base + 2 * 8, address(&machine->functions[0].instructions[5]));
  EXPECT_EQ(step(code_at(10), true), unwind::StepStatus::kOk);
  ASSERT_EQ(tokens->tokens().size(), 1u);
  EXPECT_EQ(tokens->tokens()[0].code, address(&machine->functions[0].code));
  EXPECT_EQ(tokens->tokens()[0].position, 4u);
}

TEST_F(LuaJitFramesOfAarch64, HaveSavedTheirBaseBeforeMostCalls) {
  keep(0x5555, 0x5555);
  EXPECT_EQ(step(code_at(kCallThatSaves), false), unwind::StepStatus::kOk);
  expect_calls(2);
  expect_caller(address(native) + 208, kOuterFrame);
}

TEST_F(LuaJitFramesOfAarch64, KeepTheirBaseInARegisterDuringOtherCalls) {
  keep(address(&values[4]), address(&machine->functions[0].instructions[5]));
  EXPECT_EQ(step(code_at(kOtherCall), false), unwind::StepStatus::kOk);
  ASSERT_EQ(tokens->tokens().size(), 1u);  // the state has another function, which has returned
  EXPECT_EQ(tokens->tokens()[0].code, address(&machine->functions[0].code));
}

TEST_F(LuaJitFramesOfAarch64, MayHaveTheirBaseInTheFrameOfACallee) {
  std::memmove(native + 8, native, 208);
  const std::uint64_t stack = address(native + 8);
  machine->thread.native_frame = stack;
  registers.values[unwind::kStackRegister] = stack;
  registers.values[unwind::kFrameRegister] = stack + 192;
  std::fill_n(native, 8, 0);
  native[6] = base;
  keep(0x5555, next);
  first_stack = address(native + 7);
  EXPECT_EQ(step(code_at(kOtherCall), false), unwind::StepStatus::kOk);
  EXPECT_TRUE(tokens->tokens().empty());  // no frame is there
  registers.values[unwind::kStackRegister] = stack;
  registers.values[unwind::kFrameRegister] = stack + 192;
  first_stack = address(native + 6);
  EXPECT_EQ(step(code_at(kOtherCall), false), unwind::StepStatus::kOk);
  ASSERT_EQ(tokens->tokens().size(), 2u);
  EXPECT_EQ(tokens->tokens()[0].position, 2u);
}

TEST_F(LuaJitFramesOfAarch64, AreNotShownWithoutProof) {
  keep(0x5555, 0x5555);
  EXPECT_EQ(step(code_at(kOtherCall), false), unwind::StepStatus::kOk);
  EXPECT_TRUE(tokens->tokens().empty());
  expect_caller(address(native) + 208, kOuterFrame);
}

TEST_F(LuaJitFramesOfAarch64, OfCompiledCodeAreFoundWithoutTheFramePointer) {
  // 32 bytes are below the machine's frame.
  std::memmove(native + 4, native, 208);
  machine->thread.native_frame = address(native + 4);
  machine->global[kLuaJitCurrent[0] / 8] = address(&machine->thread);
  machine->global[kLuaJitCurrent[0] / 8 + 1] = base;
  registers.values[unwind::kPcRegister] = code_at(0) + 0x10'0000;
  registers.known = unwind::bit_of(unwind::kStackRegister) | unwind::bit_of(unwind::kPcRegister);
  EXPECT_EQ(step(), unwind::StepStatus::kOk);
  ASSERT_EQ(tokens->tokens().size(), 2u);
  EXPECT_EQ(tokens->tokens()[0].flags, kTokenCompiled);
  expect_caller(address(native + 4) + 208, kOuterFrame);
}

TEST_F(LuaJitFramesOfAarch64, ThatAreBeingMadeHaveTheirCallerInARegister) {
  registers.values[unwind::kBaseRegister] = kOutside;
  EXPECT_EQ(step(code_at(kBegin + 1), true), unwind::StepStatus::kOk);
  EXPECT_TRUE(tokens->tokens().empty());
  expect_caller(address(native) + 208, address(native) + 192);
}

}  // namespace
}  // namespace swipr::runtimes
