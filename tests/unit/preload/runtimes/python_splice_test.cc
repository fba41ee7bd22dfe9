// The splice of real interpreters' frames into native stacks that libdw unwinds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/python/python_names.h"
#include "preload/runtimes/splice.h"
#include "preload/runtimes/tid_in_pthread.h"
#include "tests/unit/preload/runtimes/native_frames.h"
#include "tests/unit/preload/runtimes/python_process.h"

namespace swipr::runtimes {
namespace {

class PythonSplice : public ::testing::TestWithParam<Interpreter> {
 protected:
  void SetUp() override {
    process_ = std::make_unique<PythonProcess>(GetParam());
    ASSERT_TRUE(process_->is_ready()) << GetParam().label();
    found_ = process_->detect();
    ASSERT_EQ(found_.state, DetectionState::kFound);
    reader_ = std::make_unique<ObjectPieces>(process_->reader());
  }

  // The merged stack, innermost first, each frame "python NAME" or "native SYMBOL".
  std::vector<std::string> merged(const ExpectedStack& expected, const NativeFrames& native) {
    const PythonRuntime& python = found_.runtime;
    const ThreadIdentity identity{
        .tid = expected.tid, .pthread = 0, .tid_in_pthread = find_tid_in_pthread()};
    const std::uint64_t thread = find_python_states(python, *reader_, identity, 1).first();
    walk_python(python, *reader_, {{thread}}, *tokens_);
    splice({native.pcs, native.stacks, true, 0}, {tokens_->tokens(), 0, true}, python.loop, *out_);
    std::vector<std::string> frames;
    for (const SplicedFrame& frame : out_->view()) {
      if (!frame.is_token) {
        frames.push_back("native " + native.symbols[frame.index]);
        continue;
      }
      const Token& token = tokens_->tokens()[frame.index];
      EXPECT_TRUE(read_python_function(python, *reader_, token, *text_));
      frames.push_back("python " + std::string(text_->name.view()));
    }
    return frames;
  }

  std::unique_ptr<PythonProcess> process_;
  PythonDetection found_;
  std::unique_ptr<ObjectPieces> reader_;
  std::unique_ptr<TokenBuffer> tokens_ = std::make_unique<TokenBuffer>();
  std::unique_ptr<FunctionText> text_ = std::make_unique<FunctionText>();
  std::unique_ptr<SplicedStack> out_ = std::make_unique<SplicedStack>();
};

bool is_native(const std::string& frame) { return frame.starts_with("native "); }

TEST_P(PythonSplice, ReplacesEveryLoop) {
  for (const ExpectedStack& stack : process_->stacks()) {
    SCOPED_TRACE(stack.kind);
    const NativeFrames native = unwind_thread(process_->pid(), static_cast<pid_t>(stack.tid));
    if (native.pcs.empty()) GTEST_SKIP() << "no other process may be traced here";
    const std::vector<std::string> frames = merged(stack, native);
    EXPECT_FALSE(out_->is_uneven);
    EXPECT_EQ(out_->loops_left, 0u);
    EXPECT_THAT(
        frames,
        ::testing::Each(::testing::Not(::testing::StartsWith("native _PyEval_EvalFrameDefault"))));
    EXPECT_EQ(std::count_if(frames.begin(), frames.end(), is_native),
              static_cast<std::ptrdiff_t>(out_->count - tokens_->tokens().size()));
    EXPECT_TRUE(is_native(frames.front()));  // read()
    EXPECT_TRUE(is_native(frames.back()));   // _start, or clone3
  }
}

TEST_P(PythonSplice, KeepsTheCallsOfCBetweenPythonFunctions) {
  const auto stacks = process_->stacks();
  const auto stack = std::find_if(stacks.begin(), stacks.end(),
                                  [](const ExpectedStack& each) { return each.kind == "hook"; });
  ASSERT_NE(stack, stacks.end());
  const NativeFrames native = unwind_thread(process_->pid(), static_cast<pid_t>(stack->tid));
  if (native.pcs.empty()) GTEST_SKIP() << "no other process may be traced here";
  std::vector<std::string> frames = merged(*stack, native);
  for (std::string& frame : frames) {
    if (is_native(frame)) frame = "native";
  }
  frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
  const bool has_qualified = found_.runtime.layout.code_qualified_name != 0;
  const auto lambda =
      std::find(frames.begin(), frames.end(),
                has_qualified ? "python hook.<locals>.<lambda>" : "python <lambda>");
  ASSERT_NE(lambda, frames.end());
  EXPECT_EQ(*(lambda + 1), "native");  // json's scanner, which is C
  EXPECT_THAT(*(lambda + 2), ::testing::EndsWith("raw_decode"));
}

INSTANTIATE_TEST_SUITE_P(Found, PythonSplice, ::testing::ValuesIn(find_interpreters()),
                         name_of_interpreter);

}  // namespace
}  // namespace swipr::runtimes
