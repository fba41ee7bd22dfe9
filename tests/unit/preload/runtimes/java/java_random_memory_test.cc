// Readers of Java on memory of random contents: they end and stay inside their bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <random>

#include "preload/runtimes/java/java_counters.h"
#include "preload/runtimes/java/java_lines.h"
#include "preload/runtimes/java/java_names.h"
#include "preload/runtimes/java/java_stack.h"
#include "preload/runtimes/java/java_thread_walk.h"
#include "preload/runtimes/java/java_waits.h"
#include "preload/unwind/table/code_map.h"
#include "tests/unit/preload/runtimes/random_memory.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kRandomBegin = 0x7f00'0000'0000;
constexpr std::uint64_t kRandomBytes = 1 << 15;
constexpr std::uint64_t kCounters = kRandomBegin + 512;  // readable

// Most words are addresses again.
RandomMemory random_java_memory(std::uint64_t seed) {
  const auto make_word = [](std::mt19937_64& random) -> std::uint64_t {
    std::uint64_t text = 0;
    switch (random() % 8) {
      case 0:
        return random();
      case 1:
      case 2:
        return random() % 300;
      case 3:
        std::memcpy(&text, "nmethod", sizeof text);
        return text;
      default:
        return kRandomBegin + random() % (kRandomBytes / 8) * 8;
    }
  };
  return {seed, make_word, [](std::uint64_t address) { return address / 512 % 31 == 6; }};
}

// A layout of any offsets: a hostile process describes itself as it likes.
JavaRuntime random_runtime(std::mt19937_64& random) {
  constexpr std::uint64_t kBegin = kRandomBegin;
  constexpr std::uint64_t kBytes = kRandomBytes;
  JavaRuntime java;
  std::array<std::uint32_t, sizeof(JavaLayout) / 4> offsets{};
  for (std::uint32_t& offset : offsets) offset = static_cast<std::uint32_t>(random() % 32 * 8);
  std::memcpy(static_cast<void*>(&java.layout), offsets.data(), sizeof java.layout);
  if (random() % 2 == 0) java.layout.blob_code_begin = kNoJavaField;
  if (random() % 2 == 0) java.layout.blob_mutable_data = kNoJavaField;
  if (random() % 2 == 0) java.layout.nmethod_immutable_data = kNoJavaField;
  java.statics = {.major_version = kBegin,
                  .code_heaps = kBegin + 8,
                  .code_heap = random() % 2 == 0 ? 0 : kBegin + 8,
                  .code_low = kBegin,
                  .code_high = kBegin,
                  .interpreter = kBegin,
                  .call_stub_return = kBegin,
                  .return_barrier = kBegin + 8,
                  .threads = kBegin + 800,
                  .first_thread = kBegin + 1600,
                  .counters = kBegin + 2400,
                  .class_base = kBegin,
                  .class_shift = kBegin + random() % 800 * 8};
  java.version = std::array{8u, 17u, 25u}[random() % 3];
  java.segment_shift = 7;
  java.code = {kBegin, kBegin + kBytes};
  java.interpreter = {kBegin, kBegin + kBytes / 2};
  java.call_stub_return = kBegin + random() % (kBytes / 8) * 8;
  java.return_barrier = random() % 2 == 0 ? 0 : kBegin + random() % (kBytes / 8) * 8;
  java.heaps[0] = {java.code, kBegin + 64};
  return java;
}

void name_everything(const JavaRuntime& java, RandomMemory& memory, ObjectPieces& reader,
                     const Token& token) {
  const auto text = std::make_unique<FunctionText>();
  std::array<Token, kMaxJavaInlined> methods;
  std::uint32_t line = 0;
  memory.reads = 0;
  const std::size_t count = expand_java_token(java, reader, token, methods);
  EXPECT_LE(count, kMaxJavaInlined);
  EXPECT_LE(memory.reads, 2000u);
  memory.reads = 0;
  read_java_function(java, reader, token, *text);
  read_java_line(java, reader, token, line);
  EXPECT_LE(memory.reads, 2000u);
  EXPECT_LE(text->name.view().size(), 1024u);
}

TEST(RandomJavaMemory, IsReadWithinBounds) {
  const auto tokens = std::make_unique<TokenBuffer>();
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomMemory memory = random_java_memory(seed);
    ObjectPieces reader(memory.reader());
    JavaRuntime java = random_runtime(memory.random());
    find_java_thread(java, reader, static_cast<std::uint32_t>(memory.random()() % 300));
    EXPECT_LE(memory.reads, std::uint64_t{kMaxJavaThreads} * 8);
    memory.reads = 0;
    walk_java_thread(java, reader, kRandomBegin + memory.random()() % 4096 * 8, *tokens);
    EXPECT_LE(memory.reads, std::uint64_t{kMaxJavaFrames} * 2 * kMaxJavaHops);
    EXPECT_LE(tokens->added(), kMaxJavaFrames);
    for (const Token& token :
         tokens->tokens().first(std::min<std::size_t>(tokens->tokens().size(), 20))) {
      name_everything(java, memory, reader, token);
    }
    refresh_java(java, memory.reader());
  }
}

TEST(RandomJavaMemory, IsWaitedForWithinBounds) {
  int waits = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    RandomMemory memory = random_java_memory(seed);
    ObjectPieces reader(memory.reader());
    const JavaRuntime java = random_runtime(memory.random());
    BoundedText<1024> type;
    std::uint64_t holder = memory.random()() % 2 == 0 ? 0 : kRandomBegin + 8 * (seed % 4096);
    memory.reads = 0;
    const JavaWait wait =
        read_java_wait(java, reader, kRandomBegin + memory.random()() % 4096 * 8, holder, type);
    EXPECT_LE(memory.reads, std::uint64_t{kMaxJavaThreads} * 8);
    waits += wait.kind != RuntimeWait::kNone ? 1 : 0;
  }
  EXPECT_GT(waits, 100);  // else there was nothing to read
}

TEST(RandomJavaMemory, MakesFramesOfAnyRegisters) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomMemory memory = random_java_memory(seed);
    ObjectPieces reader(memory.reader());
    const JavaRuntime java = random_runtime(memory.random());
    auto& random = memory.random();
    const std::uint64_t stack = java.code.begin + random() % 1000 * 8;
    JavaRegisters registers{.pc = java.code.begin + random() % kRandomBytes,
                            .stack = stack,
                            .frame = stack + random() % 64 * 8,
                            .bytecode = random(),
                            .exact = random() % 2 == 0};
    const std::uint64_t before = registers.stack;
    Token token;
    const JavaStep step = JavaStepper(java, reader).step(registers, token);
    if (step != JavaStep::kUnreadable && step != JavaStep::kInvalid) {
      EXPECT_GT(registers.stack, before);
    }
    if (step != JavaStep::kJava) continue;
    ++found;
    name_everything(java, memory, reader, token);
  }
  EXPECT_GT(found, 20u);  // else the test would read nothing
}

TEST(RandomJavaMemory, IsWalkedWithinBounds) {
  const auto tokens = std::make_unique<TokenBuffer>();
  const auto frames = std::make_unique<unwind::FrameBuffer>();
  const unwind::CodeMap map({});
  std::uint32_t most = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomMemory memory = random_java_memory(seed);
    ObjectPieces reader(memory.reader());
    const JavaRuntime java = random_runtime(memory.random());
    auto& random = memory.random();
    unwind::Registers registers;
    for (std::uint64_t& value : registers.values) value = java.code.begin + random() % 4096;
    registers.values[unwind::kStackRegister] = java.code.begin + random() % 1000 * 8;
    registers.values[unwind::kFrameRegister] =
        registers.values[unwind::kStackRegister] + random() % 64 * 8;
    registers.known = random() % 2 == 0 ? (unwind::RegisterMask{1} << unwind::Registers::kCount) - 1
                                        : unwind::RegisterMask{1} << unwind::kPcRegister |
                                              unwind::RegisterMask{1} << unwind::kStackRegister;
    const unwind::StackReader stack{
        [](void* state, std::uint64_t address, std::uint64_t& out) noexcept {
          return static_cast<ObjectPieces*>(state)->read_value(address, out);
        },
        &reader};
    tokens->clear();
    walk_on_with_java(java, map, registers, random() % 2 == 0, stack, reader, *frames, *tokens);
    tokens->finish(true);
    EXPECT_LE(tokens->added(), kMaxJavaSteps);
    EXPECT_TRUE(std::ranges::is_sorted(tokens->tokens(), std::less_equal<>{}, &Token::mark));
    most = std::max(most, tokens->added());
    // Each token is of a frame.
    auto next = frames->stacks.begin();
    for (const Token& token : tokens->tokens()) {
      if (tokens->omitted() != 0) break;
      next = std::find(next, frames->stacks.begin() + frames->frame_count, token.mark);
      ASSERT_NE(next, frames->stacks.begin() + frames->frame_count);
    }
  }
  EXPECT_GT(most, 0u);  // else there was nothing to walk
}

// The magic number of counters, then anything.
TEST(RandomJavaMemory, HasCountersWithinBounds) {
  std::uint64_t most = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomMemory memory = random_java_memory(seed);
    const unwind::ImageReader reader{
        [](void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
          constexpr std::uint32_t kMagic = 0xc0c0feca;
          const unwind::ImageReader random = static_cast<RandomMemory*>(state)->reader();
          const bool is_read = random.read(random.state, address, out);
          if (is_read && address == kCounters) std::memcpy(out.data(), &kMagic, sizeof kMagic);
          return is_read;
        },
        &memory};
    find_java_counter(kCounters, "java.cls.unloadedClasses", reader);
    EXPECT_LE(memory.reads, std::uint64_t{kMaxJavaCounters} * 4 + 1);
    most = std::max(most, memory.reads);
  }
  EXPECT_GT(most, 10u);  // else there was nothing to follow
}

TEST(RandomJavaMemory, IsNoMachine) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomMemory memory = random_java_memory(seed);
    const JavaDetection found =
        detect_java({0x7f00'0000'3000, 0x7f00'0000'3400}, 0x7f00'0000'0000, memory.reader());
    EXPECT_NE(found.state, DetectionState::kFound);
    EXPECT_LE(memory.reads, 500u);
  }
}

TEST(RandomJavaMemory, HasLinesOfAnyTable) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    RandomMemory memory = random_java_memory(seed);
    auto& random = memory.random();
    const auto position = static_cast<std::uint32_t>(random() % 1000);
    memory.reads = 0;
    find_java_line(random() % 2 == 0 ? 17 : 25, position,
                   {0x7f00'0000'0000, 0x7f00'0000'0000 + random() % (1 << 20)}, memory.reader());
    EXPECT_LE(memory.reads, kMaxJavaLineTable + 1);
  }
}

}  // namespace
}  // namespace swipr::runtimes
