// Stacks, names and lines that are read from the memory of real virtual machines, against what
// Java itself says.
#include "tests/unit/preload/runtimes/java/java_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

#include "preload/runtimes/java/java_names.h"
#include "preload/runtimes/java/java_thread_walk.h"
#include "preload/runtimes/java/java_waits.h"

namespace swipr::runtimes {
namespace {

std::vector<Token> methods_of(const JavaRuntime& java, ObjectPieces& reader,
                              std::span<const Token> tokens) {
  std::vector<Token> methods;
  for (const Token& token : tokens) {
    if (token.kind == TokenKind::kJava) {
      methods.push_back(token);
      continue;
    }
    std::array<Token, kMaxJavaInlined> inlined;
    const std::size_t count = expand_java_token(java, reader, token, inlined);
    methods.insert(methods.end(), inlined.begin(), inlined.begin() + count);
    EXPECT_NE(count, 0u);
  }
  return methods;
}

// Java's own stacks have no frames of hidden classes (before 20, some) and methods.
bool is_hidden(const std::string& name) {
  return name.find("$$Lambda") != std::string::npos ||
         name.find("LambdaForm$") != std::string::npos || name == "java.lang.Thread.runWith";
}

std::vector<ExpectedJavaFrame> shown_frames_of(const ExpectedJavaStack& stack) {
  std::vector<ExpectedJavaFrame> frames = stack.frames;
  std::erase_if(frames, [](const ExpectedJavaFrame& frame) { return is_hidden(frame.name); });
  return frames;
}

std::vector<ExpectedJavaFrame> java_frames_of(const JavaRuntime& java, ObjectPieces& reader,
                                              std::span<const Token> methods) {
  const auto text = std::make_unique<FunctionText>();
  std::vector<ExpectedJavaFrame> frames;
  for (const Token& token : methods) {
    std::uint32_t line = 0;
    if (!read_java_function(java, reader, token, *text) ||
        !read_java_line(java, reader, token, line)) {
      frames.push_back({"[gone]", "", 0});
      continue;
    }
    const std::string name(text->name.view());
    EXPECT_EQ(name.find("0x"), std::string::npos) << name;
    EXPECT_TRUE(line == 0 || text->first_line <= line) << name;
    if (!is_hidden(name)) frames.push_back({name, std::string(text->file.view()), line});
  }
  return frames;
}

// One process for all tests of a machine: they only read it, and it takes seconds to start.
JavaProcess& process_of(const JavaMachine& machine) {
  static std::map<std::string, std::unique_ptr<JavaProcess>> processes;
  std::unique_ptr<JavaProcess>& process = processes[machine.program + " " + machine.mode];
  if (process == nullptr) process = std::make_unique<JavaProcess>(machine);
  return *process;
}

class JavaProcesses : public ::testing::TestWithParam<JavaMachine> {
 protected:
  void SetUp() override {
    process_ = &process_of(GetParam());
    ASSERT_TRUE(process_->is_ready());
    ASSERT_EQ(process_->stacks().size(), 9u);
    found_ = process_->detect();
    ASSERT_EQ(found_.state, DetectionState::kFound)
        << (found_.reason != nullptr ? found_.reason : "");
    reader_ = std::make_unique<ObjectPieces>(process_->reader());
  }
  const JavaRuntime& java() const { return found_.runtime; }
  std::uint64_t walk(const ExpectedJavaStack& stack) {
    reader_->forget();
    const std::uint64_t thread = find_java_thread(java(), *reader_, stack.tid);
    EXPECT_NE(thread, 0u);
    EXPECT_EQ(walk_java_thread(java(), *reader_, thread, *tokens_), JavaWalkEnd::kRoot);
    return thread;
  }

  const ExpectedJavaStack& stack_of(const std::string& name) const {
    return *std::ranges::find(process_->stacks(), name, &ExpectedJavaStack::name);
  }
  JavaWait wait_of(const std::string& name, std::uint64_t& holder, BoundedText<1024>& type) {
    const std::uint64_t thread = find_java_thread(java(), *reader_, stack_of(name).tid);
    EXPECT_NE(thread, 0u);
    return read_java_wait(java(), *reader_, thread, holder, type);
  }

  JavaProcess* process_ = nullptr;
  JavaDetection found_;
  std::unique_ptr<ObjectPieces> reader_;
  std::unique_ptr<TokenBuffer> tokens_ = std::make_unique<TokenBuffer>();
};

TEST_P(JavaProcesses, HaveTheStacksThatJavaShows) {
  for (const ExpectedJavaStack& stack : process_->stacks()) {
    SCOPED_TRACE(stack.name);
    walk(stack);
    EXPECT_TRUE(std::ranges::is_sorted(tokens_->tokens(), {}, &Token::mark));
    const std::vector<Token> methods = methods_of(java(), *reader_, tokens_->tokens());
    EXPECT_THAT(java_frames_of(java(), *reader_, methods),
                ::testing::ElementsAreArray(shown_frames_of(stack)));
  }
}

TEST_P(JavaProcesses, CountTheClassesThatTheyUnload) {
  std::uint64_t count = ~std::uint64_t{0};
  ASSERT_NE(java().unloaded_classes, 0u);
  EXPECT_TRUE(reader_->read_value(java().unloaded_classes, count));
  EXPECT_LT(count, 1000u);
}

TEST_P(JavaProcesses, HaveCompiledAndInlinedFramesIfTheyCompile) {
  std::size_t interpreted = 0;
  std::size_t compiled = 0;
  std::size_t inlined = 0;
  for (const ExpectedJavaStack& stack : process_->stacks()) {
    walk(stack);
    for (const Token& token : methods_of(java(), *reader_, tokens_->tokens())) {
      interpreted += (token.flags & kTokenCompiled) == 0 ? 1 : 0;
      compiled += (token.flags & kTokenCompiled) != 0 ? 1 : 0;
      inlined += (token.flags & kTokenInlined) != 0 ? 1 : 0;
    }
  }
  if (GetParam().mode == "-Xint") {
    EXPECT_GT(interpreted, 300u);
    EXPECT_EQ(inlined, 0u);
  } else if (GetParam().mode == "-Xcomp") {
    EXPECT_GT(compiled, 300u);
    EXPECT_GT(inlined, 0u);
  }
}

TEST_P(JavaProcesses, AreLeftThroughTheirEntry) {
  const ExpectedJavaStack& stack = process_->stacks().front();
  const std::uint64_t thread = find_java_thread(java(), *reader_, stack.tid);
  JavaRegisters registers;
  ASSERT_TRUE(read_java_anchor(java(), *reader_, thread + java().layout.thread_anchor, registers));
  JavaStepper stepper(java(), *reader_);
  Token token;
  JavaStep status = JavaStep::kJava;
  for (int i = 0; i < 100 && status != JavaStep::kEntry; ++i) {
    ASSERT_TRUE(java().code.contains(registers.pc));
    status = stepper.step(registers, token);
    ASSERT_NE(status, JavaStep::kInvalid);
    ASSERT_NE(status, JavaStep::kUnreadable);
  }
  EXPECT_EQ(status, JavaStep::kEntry);
  EXPECT_FALSE(java().code.contains(registers.pc));  // native code
}

TEST_P(JavaProcesses, KnowTheirThreadsOnly) {
  EXPECT_EQ(find_java_thread(java(), *reader_, static_cast<std::uint32_t>(::getpid())), 0u);
  const ExpectedJavaStack& stack = process_->stacks().front();
  const std::uint64_t thread = find_java_thread(java(), *reader_, stack.tid);
  EXPECT_TRUE(is_java_thread(java(), *reader_, thread, stack.tid));
  EXPECT_FALSE(is_java_thread(java(), *reader_, thread, stack.tid + 1));
  EXPECT_FALSE(is_java_thread(java(), *reader_, 0x1000, stack.tid));
}

TEST_P(JavaProcesses, LoseATokenWithAnotherFingerprint) {
  walk(process_->stacks().front());
  const auto text = std::make_unique<FunctionText>();
  for (Token token : tokens_->tokens()) {
    std::array<Token, kMaxJavaInlined> inlined;
    std::uint32_t line = 0;
    token.fingerprint ^= 1;
    EXPECT_EQ(expand_java_token(java(), *reader_, token, inlined), 0u);
    EXPECT_FALSE(read_java_function(java(), *reader_, token, *text));
    EXPECT_FALSE(read_java_line(java(), *reader_, token, line));
  }
}

TEST_P(JavaProcesses, WaitForMonitorsThatOthersHold) {
  BoundedText<1024> type;
  std::uint64_t holder = 0;
  for (int repeat = 0; repeat < 2; ++repeat) {  // without and with a hint
    const JavaWait entering = wait_of("jv-monitor", holder, type);
    EXPECT_EQ(entering.kind, RuntimeWait::kMonitor);
    EXPECT_EQ(entering.holder_tid, stack_of("jv-holder").tid);
    EXPECT_EQ(type.view(), "JavaApp$Held");
  }
  holder = find_java_thread(java(), *reader_, stack_of("jv-plain").tid);
  EXPECT_EQ(wait_of("jv-monitor", holder, type).holder_tid, stack_of("jv-holder").tid);
}

TEST_P(JavaProcesses, WaitToBeNotified) {
  BoundedText<1024> type;
  std::uint64_t holder = 0;
  const JavaWait waiting = wait_of("jv-wait", holder, type);
  EXPECT_EQ(waiting.kind, RuntimeWait::kCondition);
  EXPECT_EQ(waiting.holder_tid, 0u);
  EXPECT_EQ(type.view(), "JavaApp$WaitedFor");
}

TEST_P(JavaProcesses, WaitForNoMonitorInOtherCalls) {
  BoundedText<1024> type;
  std::uint64_t holder = 0;
  for (const char* name : {"jv-holder", "jv-plain", "jv-sleep", "jv-class"}) {
    EXPECT_EQ(wait_of(name, holder, type).kind, RuntimeWait::kNone) << name;
    EXPECT_EQ(type.view(), "") << name;
  }
}

// A process in which no field has the name of one that is needed.
struct OtherNames {
  unwind::ImageReader inner;
  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    constexpr std::string_view kName = "_segmap";
    const unwind::ImageReader& inner = static_cast<OtherNames*>(state)->inner;
    if (!inner.read(inner.state, address, out)) return false;
    const std::string_view text(reinterpret_cast<const char*>(out.data()), out.size());
    if (text.starts_with(kName)) out[1] = std::byte{'x'};
    return true;
  }
};

TEST_P(JavaProcesses, AreRefusedIfTheyLackAField) {
  OtherNames other{process_->reader()};
  const JavaDetection found = process_->detect_through({&OtherNames::read, &other});
  EXPECT_EQ(found.state, DetectionState::kRefused);
  EXPECT_TRUE(found.is_field_missing);
  EXPECT_STREQ(found.reason, "CodeHeap._segmap");
}

TEST_P(JavaProcesses, AreNotReadyBeforeTheyHaveHeaps) {
  JavaRuntime starting = java();
  EXPECT_TRUE(refresh_java(starting, process_->reader()));
  starting.statics.code_heaps = 0;
  starting.statics.code_heap = 0;
  EXPECT_FALSE(refresh_java(starting, process_->reader()));
}

// That of 8 has one heap, to which a static field points.
TEST_P(JavaProcesses, MayHaveOneHeap) {
  if (java().statics.code_heap != 0) GTEST_SKIP() << "it is that of 8";
  JavaRuntime one = java();
  std::uint64_t list = 0;
  ASSERT_TRUE(reader_->read_value(one.statics.code_heaps, list));
  ASSERT_TRUE(reader_->read_value(list + one.layout.array_data, one.statics.code_heap));
  ASSERT_TRUE(refresh_java(one, process_->reader()));
  EXPECT_EQ(one.version, 8u);
  EXPECT_EQ(one.heaps[0], java().heaps[0]);
  EXPECT_EQ(one.heaps[1], JavaCodeHeap{});
  EXPECT_EQ(one.code.begin, java().heaps[0].memory.begin);
  EXPECT_GE(one.code.end, java().heaps[0].memory.end);
  EXPECT_LE(one.code.end, java().code.end);
}

// Without a virtual machine the suite fails: nothing would have been tested.
INSTANTIATE_TEST_SUITE_P(Found, JavaProcesses, ::testing::ValuesIn(find_java_machines()),
                         name_of_java_machine);

}  // namespace
}  // namespace swipr::runtimes
