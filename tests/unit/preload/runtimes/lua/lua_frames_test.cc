// Lua's frames and names in memory that is laid out as Lua does it.
#include "preload/runtimes/lua/lua_frames.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "preload/runtimes/lua/lua_names.h"
#include "tests/unit/preload/runtimes/lua/lua_memory.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint32_t kOpGetTabUp = 11;
constexpr std::uint32_t kOpGetField = 14;
constexpr std::uint32_t kOpSelf = 20;
constexpr std::uint32_t kOpMmBin = 46;
constexpr std::uint32_t kOpJmp = 56;
constexpr std::uint32_t kOpCall = 68;
constexpr std::uint32_t kOpTForCall = 76;

constexpr std::uint32_t lua_instruction(std::uint32_t operation, std::uint32_t a = 0,
                                        std::uint32_t b = 0, std::uint32_t c = 0, bool k = false) {
  return operation | a << 7 | (k ? 1u << 15 : 0) | b << 16 | c << 24;
}

bool read_own_memory(void*, std::uint64_t address, std::span<std::byte> out) noexcept {
  std::memcpy(out.data(), reinterpret_cast<const void*>(address), out.size());
  return true;
}
bool read_probed_memory(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
  return static_cast<ProbedObjects*>(state)->read(address, out);
}

class LuaFrames : public ::testing::Test {
 protected:
  std::unique_ptr<LuaMemory> memory_owner = std::make_unique<LuaMemory>();
  LuaMemory& memory = *memory_owner;
  std::unique_ptr<TokenBuffer> tokens = std::make_unique<TokenBuffer>();
  std::unique_ptr<FunctionText> text = std::make_unique<FunctionText>();
  std::unique_ptr<PageCache> pages = std::make_unique<PageCache>();
  ObjectPieces pieces{{&read_own_memory, nullptr}};
  LuaProtection protection{0};

  std::span<const Token> walk(const LuaStack& stack) {
    ProbedObjects inside(*pages);
    pages->clear();
    walk_lua({.loop = LuaMemory::kLoop}, {&read_probed_memory, &inside}, stack, protection,
             *tokens);
    return tokens->tokens();
  }
  std::span<const Token> walk() { return walk(memory.stack()); }
  std::string name_of(const Token& token) {
    return read_lua_function(pieces, token, *text) ? std::string(text->name.view()) : "[gone]";
  }
  std::string names() {
    std::string found;
    for (const Token& token : walk()) {
      found += name_of(token) + ((token.flags & kTokenEndsLoop) != 0 ? "; " : " ");
    }
    return found;
  }
  // A function that another one, at the root, has called by its last instruction.
  std::string name_by(LuaCode& caller, std::uint16_t status = 0) {
    const std::uint64_t thread = memory.thread();
    memory.frame(LuaMemory::kOtherPc);
    memory.protect(thread);
    memory.frame(LuaMemory::kLoopPc);
    memory.call(thread, caller, kLuaBeginsLoop,
                static_cast<std::uint64_t>(caller.instruction_count));
    memory.call(thread, memory.code("@dir/x.lua", 12, {0, 0}), status);
    if (status != 0) memory.frame(LuaMemory::kLoopPc);
    return name_of(walk()[0]);
  }
  std::uint64_t simple_stack(std::uint16_t inner = 0) {
    const std::uint64_t thread = memory.thread();
    memory.frame(LuaMemory::kOtherPc);
    memory.protect(thread);
    memory.frame(LuaMemory::kOtherPc);
    memory.frame(LuaMemory::kLoopPc);
    memory.call(thread, memory.code("@x.lua", 0, {0, 0}), kLuaBeginsLoop);
    memory.call(thread, memory.code("@x.lua", 7, {0, 0}), inner);
    return thread;
  }
};

TEST_F(LuaFrames, OfOneLoopAreOneGroup) {
  simple_stack();
  EXPECT_EQ(names(), "function <x.lua:7> main chunk; ");
  EXPECT_TRUE(tokens->is_root_reached());
  EXPECT_EQ(tokens->tokens()[1].mark, memory.stack_of(0));
  EXPECT_EQ(text->file.view(), "x.lua");
  const std::uint64_t known = protection.load();
  EXPECT_EQ(known, (LuaMemory::kProtectedPc - LuaMemory::kLoop.begin) << 32 | 16 << 16 | 32);
  walk();
  EXPECT_EQ(protection.load(), known);
}

TEST_F(LuaFrames, AreSeparatedByFunctionsOfC) {
  const std::uint64_t thread = simple_stack();
  memory.frame(LuaMemory::kOtherPc);
  memory.call(thread, memory.value(LuaMemory::kOtherPc, kLuaLightFunction), kLuaCallsC);
  memory.frame(LuaMemory::kLoopPc);
  memory.call(thread, memory.code("@x.lua", 9, {0}), kLuaBeginsLoop);
  EXPECT_EQ(names(), "function <x.lua:9>; function of C function <x.lua:7> main chunk; ");
  EXPECT_EQ(tokens->tokens()[0].mark, memory.stack_of(0));
  EXPECT_EQ(tokens->tokens()[1].flags, kTokenBuiltIn);
  EXPECT_EQ(tokens->tokens()[1].code, LuaMemory::kOtherPc);
  EXPECT_EQ(tokens->tokens()[3].mark, memory.stack_of(2));
}

TEST_F(LuaFrames, OfResumedCoroutinesHaveOneLoop) {
  const std::uint64_t main = simple_stack();
  const std::uint64_t parked = memory.thread(LuaMemory::global_of(main));
  const std::uint64_t coroutine = memory.thread(LuaMemory::global_of(main));
  memory.call(parked, memory.code("@x.lua", 40, {0}), kLuaBeginsLoop);
  memory.call(main, memory.value(LuaMemory::kOtherPc, kLuaLightFunction), kLuaCallsC);
  LuaMemory::word(memory.frame(LuaMemory::kOtherPc)) = parked;
  memory.protect(coroutine);
  memory.frame(LuaMemory::kLoopPc);
  // pcall and the outer function were left, and have no native frame any more.
  memory.call(coroutine, memory.code("@x.lua", 20, {0}), kLuaBeginsLoop);
  memory.call(coroutine, memory.value(LuaMemory::kOtherPc, kLuaLightFunction), kLuaCallsC);
  memory.call(coroutine, memory.code("@x.lua", 21, {0}), kLuaBeginsLoop);
  EXPECT_EQ(names(),
            "function <x.lua:21> function of C function <x.lua:20>; function of C function "
            "<x.lua:7> main chunk; ");
  EXPECT_EQ(tokens->tokens()[2].mark, memory.stack_of(0));
}

TEST_F(LuaFrames, ThatHaveEndedOrNotBegunLeaveTheLoopsOfOthers) {
  const std::uint64_t thread = simple_stack();
  memory.frame(LuaMemory::kOtherPc);
  memory.frame(LuaMemory::kLoopPc);  // its function has ended
  EXPECT_EQ(names(), "function <x.lua:7> main chunk; ");
  EXPECT_EQ(tokens->tokens()[1].mark, memory.stack_of(2));
  memory.frame(LuaMemory::kOtherPc);
  memory.call(thread, memory.value(LuaMemory::kOtherPc, kLuaLightFunction), kLuaCallsC);
  memory.call(thread, memory.code("@x.lua", 9, {0}), kLuaBeginsLoop);
  memory.call(thread, memory.value(LuaMemory::kOtherPc, kLuaLightFunction), kLuaCallsC);
  memory.call(thread, memory.code("@x.lua", 10, {0}), kLuaBeginsLoop, 0);
  EXPECT_EQ(names(),
            "function of C function <x.lua:9>; function of C function <x.lua:7> main chunk; ");
}

TEST_F(LuaFrames, OfStatesThatRunElsewhereAreNone) {
  const std::uint64_t thread = simple_stack();
  ASSERT_EQ(walk().size(), 2u);
  LuaMemory::word(thread + 88) = LuaMemory::address(this);
  EXPECT_EQ(walk().size(), 0u);
  EXPECT_FALSE(tokens->is_root_reached());
}

TEST_F(LuaFrames, WithoutProtectionAreFoundByTheLoop) {
  const std::uint64_t thread = memory.thread();
  memory.frame(LuaMemory::kOtherPc);
  LuaMemory::word(memory.frame(LuaMemory::kLoopPc) + 8) = thread;
  memory.call(thread, memory.code("@x.lua", 0, {0}), kLuaBeginsLoop);
  EXPECT_EQ(names(), "main chunk; ");
}

TEST_F(LuaFrames, OfStacksWithoutLoopsCostNothing) {
  memory.frame(LuaMemory::kOtherPc);
  memory.protect(memory.thread());
  EXPECT_EQ(walk().size(), 0u);
  EXPECT_EQ(pages->questions(), 0u);
}

TEST_F(LuaFrames, OfDeepStacksAreThoseOfBothEnds) {
  const std::uint64_t thread = simple_stack();
  LuaCode& deep = memory.code("@x.lua", 30, {0, 0});
  const std::uint64_t closure = memory.closure(deep);
  for (int depth = 0; depth < 5000; ++depth) {
    memory.call(thread, closure, 0, deep.instructions, 1);
  }
  walk();
  EXPECT_TRUE(tokens->is_root_reached());
  EXPECT_EQ(tokens->added(), kMaxLuaCalls + kOuterLuaCalls);
  EXPECT_EQ(name_of(tokens->tokens().back()), "main chunk");
  EXPECT_EQ(tokens->tokens().back().mark, memory.stack_of(0));
  EXPECT_EQ(tokens->tokens().back().flags, kTokenEndsLoop);
}

// Where the parts overlap, no call is there twice.
TEST_F(LuaFrames, OfLessDeepStacksAreWhole) {
  const std::uint64_t thread = simple_stack();
  LuaCode& deep = memory.code("@x.lua", 30, {0, 0});
  const std::uint64_t closure = memory.closure(deep);
  constexpr std::uint32_t kDepth = kMaxLuaCalls + kOuterLuaCalls / 2;
  for (std::uint32_t depth = 2; depth < kDepth; ++depth) {
    memory.call(thread, closure, 0, deep.instructions, 1);
  }
  walk();
  EXPECT_TRUE(tokens->is_root_reached());
  EXPECT_EQ(tokens->added(), kDepth);
}

TEST_F(LuaFrames, HaveTheLineOfARegister) {
  simple_stack();
  unwind::Registers registers;
  LuaStack stack = memory.stack();
  stack.interrupted = &registers;
  const std::uint64_t saved = walk()[0].position;
  LuaCode code;
  std::memcpy(&code, reinterpret_cast<const void*>(walk()[0].code), sizeof code);
  registers.values[3] = code.instructions + 8;
  EXPECT_EQ(walk(stack)[0].position, 1u);
  registers.values[5] = code.instructions + 4;  // which of them?
  EXPECT_EQ(walk(stack)[0].position, saved);
}

TEST_F(LuaFrames, HaveTheNamesOfTheirCalls) {
  LuaCode& global =
      memory.code("@x.lua", 1, {lua_instruction(kOpGetTabUp), lua_instruction(kOpCall)});
  global.constants = memory.constant(memory.text("fib"));
  global.constant_count = 1;
  EXPECT_EQ(name_by(global), "fib");
  LuaCode& field =
      memory.code("@x.lua", 1, {lua_instruction(kOpGetField, 2), lua_instruction(kOpCall, 2)});
  field.constants = memory.constant(memory.text("run"));
  field.constant_count = 1;
  EXPECT_EQ(name_by(field), "run");
  LuaCode& method =
      memory.code("@x.lua", 1,
                  {lua_instruction(kOpSelf, 0, 0, 0, true), 0 | 5u << 7, lua_instruction(kOpCall)});
  method.constants = memory.constant(memory.text("go"));
  method.constant_count = 1;
  EXPECT_EQ(name_by(method), "go");
  LuaCode& upvalue = memory.code("@x.lua", 1, {lua_instruction(9), lua_instruction(kOpCall)});
  upvalue.upvalues = memory.value(memory.text("up"), 0);
  upvalue.upvalue_count = 1;
  EXPECT_EQ(name_by(upvalue), "up");
  LuaCode& local = memory.code("@x.lua", 1, {0, 0 | 1u << 7, lua_instruction(kOpCall, 1)});
  local.locals = memory.value(memory.text("here"), std::uint64_t{9} << 32);
  local.local_count = 1;
  EXPECT_EQ(name_by(local), "here");
}

TEST_F(LuaFrames, WithoutANameHaveTheirPlace) {
  EXPECT_EQ(name_by(memory.code("@x.lua", 1, {0, 0})), "function <x.lua:12>");
  // One of two names: a jump leads between.
  LuaCode& either = memory.code("@x.lua", 1,
                                {lua_instruction(kOpJmp) | (0xff'ffffu + 1) << 7,
                                 lua_instruction(kOpGetTabUp), lua_instruction(kOpCall)});
  either.constants = memory.constant(memory.text("fib"));
  either.constant_count = 1;
  EXPECT_EQ(name_by(either), "function <x.lua:12>");
}

TEST_F(LuaFrames, OfMetamethodsHaveTheNamesOfEvents) {
  EXPECT_EQ(name_by(memory.code("@x.lua", 1, {lua_instruction(kOpGetField)}), kLuaBeginsLoop),
            "__index");
  EXPECT_EQ(name_by(memory.code("@x.lua", 1, {lua_instruction(kOpMmBin, 0, 0, 6)}), kLuaBeginsLoop),
            "__add");
  EXPECT_EQ(name_by(memory.code("@x.lua", 1, {lua_instruction(kOpTForCall)}), kLuaBeginsLoop),
            "for iterator");
  EXPECT_EQ(
      name_by(memory.code("@x.lua", 1, {lua_instruction(kOpMmBin, 0, 0, 99)}), kLuaBeginsLoop),
      "function <x.lua:12>");
}

TEST_F(LuaFrames, HaveLines) {
  const std::uint64_t thread = simple_stack();
  LuaCode& code = memory.code("@x.lua", 100, {0, 0, 0, 0, 0, 0});
  memory.call(thread, code, 0, 4);
  std::uint32_t line = 0;
  Token token = walk()[0];
  ASSERT_TRUE(read_lua_line(pieces, token, line));
  EXPECT_EQ(line, 104u);
  code.known_lines = memory.words(1);
  code.known_line_count = 1;
  LuaMemory::word(code.known_lines) = std::uint64_t{900} << 32 | 2;
  pieces.forget();
  ASSERT_TRUE(read_lua_line(pieces, token, line));
  EXPECT_EQ(line, 901u);
  token.position = kNoPosition;
  ASSERT_TRUE(read_lua_line(pieces, token, line));
  EXPECT_EQ(line, 100u);
}

TEST_F(LuaFrames, ThatWereFreedHaveNoName) {
  simple_stack();
  const Token token = walk()[0];
  ASSERT_NE(name_of(token), "[gone]");
  reinterpret_cast<LuaCode*>(token.code)->source = memory.text("@y.lua");
  EXPECT_EQ(name_of(token), "[gone]");
  std::uint32_t line = 0;
  EXPECT_FALSE(read_lua_line(pieces, token, line));
}

TEST_F(LuaFrames, OfTextHaveItsFirstLine) {
  const std::uint64_t thread = simple_stack();
  memory.call(thread, memory.code("return 1", 0, {0}), 0);
  EXPECT_EQ(name_of(walk()[0]), "main chunk");
  EXPECT_EQ(text->file.view(), "[string \"return 1\"]");
  memory.call(thread, memory.code("a()\nb()", 0, {0}), 0);
  name_of(walk()[0]);
  EXPECT_EQ(text->file.view(), "[string \"a()...\"]");
}

}  // namespace
}  // namespace swipr::runtimes
