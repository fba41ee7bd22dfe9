// R's frames and names in memory that is laid out as R does it.
#include "preload/runtimes/r/r_frames.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "preload/runtimes/r/r_names.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint32_t kReturn = 12;
constexpr std::uint32_t kGeneric = 20;
constexpr std::uint32_t kLoop = 3;
constexpr std::uint32_t kBuiltIn = 64;
constexpr std::uint32_t kUtf8 = 1u << (8 + 3);
constexpr std::uint32_t kLatin1 = 1u << (8 + 2);

// Objects and contexts in this process's memory. Contexts lie in `stack`, or elsewhere.
class RMemory {
 public:
  RMemory() {
    runtime_ = {.innermost = address(&innermost_), .stack_end = address(&stack_.back())};
  }

  const RRuntime& runtime() const { return runtime_; }
  std::uint64_t stack_pointer() const { return address(stack_.data()); }

  std::uint64_t object(std::uint32_t info, std::initializer_list<std::uint64_t> contents) {
    std::uint64_t* const out = words(4 + contents.size());
    out[0] = info;
    std::copy(contents.begin(), contents.end(), out + 4);
    return address(out);
  }
  std::uint64_t symbol(std::string_view text, std::uint32_t encoding = 0) {
    std::uint64_t* const name = words(6 + text.size() / 8 + 1);
    name[0] = kRText | encoding;
    name[4] = text.size();
    std::memcpy(name + 6, text.data(), text.size());
    return object(kRSymbol, {address(name), 0, 0});
  }
  std::uint64_t list(std::initializer_list<std::uint64_t> values) {
    constexpr std::uint32_t kList = 2;
    std::uint64_t next = 0;
    for (auto value = std::rbegin(values); value != std::rend(values); ++value) {
      next = object(kList, {*value, next, 0});
    }
    return next;
  }
  // A call of what `function` says.
  std::uint64_t call(std::uint64_t function, std::uint64_t arguments = 0) {
    return object(kRCallType, {function, arguments, 0});
  }

  // Around which the one before was. On the stack they are given from its end.
  std::uint64_t on_stack(std::uint32_t flags, std::uint64_t call) {
    stack_used_ += kContextWords;
    return place(stack_.data() + stack_.size() - stack_used_, flags, call, 0);
  }
  std::uint64_t elsewhere(std::uint32_t flags, std::uint64_t call, std::uint64_t loop) {
    return place(words(kContextWords), flags, call, loop);
  }

 private:
  static constexpr std::size_t kContextWords = (kRLoop + 8) / 8;

  static std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
  }
  std::uint64_t place(std::uint64_t* context, std::uint32_t flags, std::uint64_t call,
                      std::uint64_t loop) {
    context[0] = innermost_;
    context[1] = flags;
    context[kRCall / 8] = call;
    context[kRLoop / 8] = loop;
    return innermost_ = address(context);
  }
  std::uint64_t* words(std::size_t count) {
    std::uint64_t* const begin = words_.data() + used_;
    used_ += count;
    if (used_ > words_.size()) std::abort();
    return begin;
  }

  alignas(4096) std::array<std::uint64_t, 4096> words_{};
  alignas(4096) std::array<std::uint64_t, 2048> stack_{};
  std::size_t used_ = 0;
  std::size_t stack_used_ = 1;
  std::uint64_t innermost_ = 0;
  RRuntime runtime_;
};

class RFrames : public ::testing::Test {
 protected:
  RMemory memory;
  std::unique_ptr<TokenBuffer> tokens = std::make_unique<TokenBuffer>();
  std::unique_ptr<FunctionText> text = std::make_unique<FunctionText>();
  std::unique_ptr<PageCache> pages = std::make_unique<PageCache>();
  ObjectPieces pieces{{[](void*, std::uint64_t address, std::span<std::byte> out) noexcept {
                         std::memcpy(out.data(), reinterpret_cast<const void*>(address),
                                     out.size());
                         return true;
                       },
                       nullptr}};

  std::span<const Token> walk(std::uint64_t stack) {
    ProbedObjects inside(*pages);
    pages->clear();
    walk_r(memory.runtime(), inside, stack, *tokens);
    return tokens->tokens();
  }
  std::span<const Token> walk() { return walk(memory.stack_pointer()); }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const Token& token : walk()) {
      const bool is_named = read_r_function(pieces, token, *text);
      found.push_back(is_named ? std::string(text->name.view()) : "[gone]");
    }
    return found;
  }
};

TEST_F(RFrames, AreContextsOfFunctions) {
  memory.on_stack(0, 0);  // the outermost
  const std::uint64_t outer = memory.on_stack(kReturn, memory.call(memory.symbol("outer")));
  memory.on_stack(kLoop, 0);
  memory.on_stack(kBuiltIn, memory.call(memory.symbol("lapply")));
  const std::uint64_t inner = memory.on_stack(kGeneric, memory.call(memory.symbol("print.lm")));
  const auto found = walk();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(tokens->is_root_reached());
  EXPECT_EQ(found[0].mark, inner);
  EXPECT_EQ(found[1].mark, outer);
  EXPECT_EQ(found[0].flags, kTokenEndsLoop);
  EXPECT_EQ(names(), (std::vector<std::string>{"print.lm", "outer"}));
}

TEST_F(RFrames, HaveTheNamesOfTheirCalls) {
  const std::uint64_t package = memory.symbol("stats");
  const std::uint64_t function = memory.symbol("sd");
  const auto part = [&](std::string_view way) {
    return memory.call(memory.call(memory.symbol(way), memory.list({package, function})));
  };
  memory.on_stack(0, 0);
  memory.on_stack(kReturn, part("::"));
  memory.on_stack(kReturn, part(":::"));
  memory.on_stack(kReturn, part("$"));
  memory.on_stack(kReturn, part("@"));
  memory.on_stack(kReturn, part("["));
  memory.on_stack(kReturn, part("::::"));
  // a()$sd(), and a function that has no name at all
  memory.on_stack(kReturn, memory.call(memory.call(memory.symbol("$"),
                                                   memory.list({memory.call(package), function}))));
  memory.on_stack(kReturn, memory.call(memory.object(3, {0, 0, 0})));
  memory.on_stack(kReturn, memory.call(memory.symbol("caf\xc3\xa9", kUtf8)));
  memory.on_stack(kReturn, memory.call(memory.symbol("caf\xe9", kLatin1)));
  EXPECT_EQ(names(), (std::vector<std::string>{"café", "café", "<anonymous>", "sd", "<anonymous>",
                                               "<anonymous>", "stats@sd", "stats$sd", "stats:::sd",
                                               "stats::sd"}));
}

TEST_F(RFrames, OfTheLoopOfBytecodeHaveItsPlace) {
  const std::uint64_t loop = memory.stack_pointer() + 64;
  memory.on_stack(0, 0);
  const std::uint64_t outer = memory.on_stack(kReturn, memory.call(memory.symbol("outer")));
  memory.elsewhere(kReturn, memory.call(memory.symbol("middle")), loop);
  memory.elsewhere(kReturn, memory.call(memory.symbol("inner")), loop);
  memory.elsewhere(kReturn, memory.call(memory.symbol("unplaced")), 0);
  const auto found = walk();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].mark, 0u);
  EXPECT_EQ(found[0].flags, 0);
  EXPECT_EQ(found[1].mark, loop);
  EXPECT_EQ(found[2].mark, loop);
  EXPECT_EQ(found[2].flags, kTokenEndsLoop);
  EXPECT_EQ(found[3].mark, outer);
}

TEST_F(RFrames, OfAnotherThreadAreNone) {
  memory.on_stack(0, 0);
  memory.on_stack(kReturn, memory.call(memory.symbol("outer")));
  EXPECT_EQ(walk(memory.runtime().stack_end - 8).size(), 0u);
}

TEST_F(RFrames, EndAtGarbage) {
  memory.on_stack(0, 0);
  memory.on_stack(kReturn, memory.symbol("no call"));
  memory.on_stack(kReturn, memory.call(memory.symbol("inner")));
  EXPECT_EQ(names(), std::vector<std::string>{"inner"});
  EXPECT_FALSE(tokens->is_root_reached());
}

TEST_F(RFrames, WithoutSymbolsHaveNoName) {
  const std::uint64_t symbol = memory.symbol("burn");
  memory.on_stack(0, 0);
  memory.on_stack(kReturn, memory.call(symbol));
  const Token token = walk()[0];
  ASSERT_TRUE(read_r_function(pieces, token, *text));
  *reinterpret_cast<std::uint64_t*>(symbol) = kRText;
  pieces.forget();
  EXPECT_FALSE(read_r_function(pieces, token, *text));
}

}  // namespace
}  // namespace swipr::runtimes
