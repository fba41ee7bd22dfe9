// Java's stacks, names, lines, waits and counters in a memory of any contents. The first byte says
// which optional fields there are, the second which bytes are the offsets; the rest is the memory,
// which repeats, so that every address is readable.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "preload/runtimes/java/java_counters.h"
#include "preload/runtimes/java/java_lines.h"
#include "preload/runtimes/java/java_names.h"
#include "preload/runtimes/java/java_stack.h"
#include "preload/runtimes/java/java_thread_walk.h"
#include "preload/runtimes/java/java_waits.h"
#include "preload/unwind/table/code_map.h"
#include "tests/fuzz/repeating_memory.h"

namespace {

using namespace swipr::runtimes;
using swipr::unwind::Registers;

constexpr std::uint64_t kBegin = 0x7f00'0000'0000;
constexpr std::uint64_t kCodeBytes = 1 << 30;
constexpr std::uint64_t kMaxNameReads = 2000;

void require(bool holds) {
  if (!holds) std::abort();
}

JavaRuntime java_of(std::uint8_t options, std::span<const std::byte> bytes, std::size_t from) {
  JavaRuntime java;
  std::array<std::uint32_t, sizeof(JavaLayout) / 4> offsets{};
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = std::to_integer<std::uint32_t>(bytes[(from + i) % bytes.size()]);
  }
  std::memcpy(static_cast<void*>(&java.layout), offsets.data(), sizeof java.layout);
  const auto is_set = [options](unsigned bit) { return (options >> bit & 1) != 0; };
  if (is_set(0)) java.layout.blob_code_begin = kNoJavaField;
  if (is_set(1)) java.layout.blob_mutable_data = kNoJavaField;
  if (is_set(2)) java.layout.nmethod_immutable_data = kNoJavaField;
  if (is_set(3)) java.layout.threads_array = kNoJavaField;
  if (is_set(4)) java.layout.thread_owner_id = kNoJavaField;
  for (std::uint64_t JavaStatics::*address :
       {&JavaStatics::major_version, &JavaStatics::code_heaps, &JavaStatics::code_heap,
        &JavaStatics::code_low, &JavaStatics::code_high, &JavaStatics::interpreter,
        &JavaStatics::call_stub_return, &JavaStatics::return_barrier, &JavaStatics::threads,
        &JavaStatics::first_thread, &JavaStatics::counters, &JavaStatics::class_base,
        &JavaStatics::class_shift}) {
    java.statics.*address = kBegin + offsets[0] * std::uint64_t{8};
  }
  java.version = is_set(5) ? 17 : 25;
  if (is_set(7)) {
    java.version = 8;
  } else {
    java.statics.code_heap = 0;
  }
  java.segment_shift = 7;
  java.code = {kBegin, kBegin + kCodeBytes};
  if (is_set(6)) java.interpreter = {kBegin, kBegin + kCodeBytes / 2};
  java.call_stub_return = kBegin + kCodeBytes / 2;
  java.return_barrier = is_set(2) ? kBegin + offsets[1] % kCodeBytes : 0;
  java.heaps[0] = {java.code, kBegin + 64};
  return java;
}

// Registers whose pc is in Java's code, and whose stack is in the memory.
Registers registers_of(RepeatingMemory& memory) {
  Registers registers;
  std::memcpy(&registers.values, memory.bytes.data(),
              std::min(sizeof registers.values, memory.bytes.size()));
  registers.known = (1u << Registers::kCount) - 1;
  auto& stack = registers.values[swipr::unwind::kStackRegister];
  stack = kBegin + stack % 4096 * 8;
  auto& frame = registers.values[swipr::unwind::kFrameRegister];
  frame = stack + frame % 64 * 8;
  auto& pc = registers.values[swipr::unwind::kPcRegister];
  pc = kBegin + pc % kCodeBytes;
  return registers;
}

void name(const JavaRuntime& java, RepeatingMemory& memory, ObjectPieces& reader, Token token) {
  static const auto text = std::make_unique<FunctionText>();
  std::array<Token, kMaxJavaInlined> methods;
  std::uint32_t line = 0;
  memory.reads = 0;
  require(expand_java_token(java, reader, token, methods) <= kMaxJavaInlined);
  require(memory.reads <= kMaxNameReads);
  // What is at the address is what was there before.
  JavaMethod method;
  if (read_java_method(java, reader, token.code, method)) token.fingerprint = method.fingerprint;
  memory.reads = 0;
  read_java_function(java, reader, token, *text);
  read_java_line(java, reader, token, line);
  require(memory.reads <= kMaxNameReads);
}

void walk(const JavaRuntime& java, RepeatingMemory& memory, ObjectPieces& reader, bool exact) {
  static const auto tokens = std::make_unique<TokenBuffer>();
  static const auto frames = std::make_unique<swipr::unwind::FrameBuffer>();
  const swipr::unwind::StackReader stack{
      [](void* state, std::uint64_t address, std::uint64_t& out) noexcept {
        return static_cast<ObjectPieces*>(state)->read_value(address, out);
      },
      &reader};
  tokens->clear();
  *frames = {};
  walk_on_with_java(java, swipr::unwind::CodeMap({}), registers_of(memory), exact, stack, reader,
                    *frames, *tokens);
  tokens->finish(true);
  require(tokens->added() <= kMaxJavaSteps);
  constexpr std::size_t kMost = 4;
  for (const Token& token : tokens->tokens().first(std::min(tokens->tokens().size(), kMost))) {
    name(java, memory, reader, token);
  }
  memory.reads = 0;
  walk_java_thread(java, reader, kBegin, *tokens);
  require(memory.reads <= std::uint64_t{kMaxJavaFrames} * 2 * kMaxJavaHops);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 64) return 0;
  RepeatingMemory memory{std::as_bytes(std::span(data, size)).subspan(2)};
  ObjectPieces reader(memory.reader());
  JavaRuntime java = java_of(data[0], memory.bytes, data[1]);
  walk(java, memory, reader, false);
  walk(java, memory, reader, true);
  name(java, memory, reader, {.code = kBegin, .kind = TokenKind::kJava});

  memory.reads = 0;
  find_java_thread(java, reader, data[0]);
  BoundedText<1024> type;
  std::uint64_t holder = kBegin;
  read_java_wait(java, reader, kBegin, holder, type);
  require(memory.reads <= std::uint64_t{kMaxJavaThreads} * 16);
  memory.reads = 0;
  find_java_counter(kBegin, "java.cls.unloadedClasses", memory.reader());
  require(memory.reads <= std::uint64_t{kMaxJavaCounters} * 4 + 1);
  memory.reads = 0;
  find_java_line(java.version, data[1], {kBegin, kBegin + size}, memory.reader());
  require(memory.reads <= kMaxJavaLineTable + 1);
  refresh_java(java, memory.reader());
  detect_java({kBegin, kBegin + size}, kBegin, memory.reader());
  return 0;
}
