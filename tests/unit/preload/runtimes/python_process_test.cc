// Stacks, names and lines that are read from the memory of real interpreters, against what the
// interpreters say themselves.
#include "tests/unit/preload/runtimes/python_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/python/python_names.h"
#include "preload/runtimes/tid_in_pthread.h"

namespace swipr::runtimes {
namespace {

std::vector<ExpectedFrame> frames_of(const PythonRuntime& python, ObjectPieces& reader,
                                     std::span<const Token> tokens) {
  const auto text = std::make_unique<FunctionText>();
  std::vector<ExpectedFrame> frames;
  for (const Token& token : tokens) {
    std::uint32_t line = 0;
    if (!read_python_function(python, reader, token, *text) ||
        !read_python_line(python, reader, token, line)) {
      frames.push_back({"[gone]", "", 0, 0});
      continue;
    }
    frames.push_back(
        {std::string(text->name.view()), std::string(text->file.view()), text->first_line, line});
  }
  return frames;
}

class PythonProcesses : public ::testing::TestWithParam<Interpreter> {
 protected:
  void SetUp() override {
    process_ = std::make_unique<PythonProcess>(GetParam());
    ASSERT_TRUE(process_->is_ready()) << GetParam().label();
    found_ = process_->detect();
    ASSERT_EQ(found_.state, DetectionState::kFound)
        << (found_.reason != nullptr ? found_.reason : "");
    reader_ = std::make_unique<ObjectPieces>(process_->reader());
  }
  const PythonRuntime& python() const { return found_.runtime; }
  ThreadIdentity identity(const ExpectedStack& stack) const {
    return {.tid = stack.tid, .pthread = 0, .tid_in_pthread = find_tid_in_pthread()};
  }

  std::unique_ptr<PythonProcess> process_;
  PythonDetection found_;
  std::unique_ptr<ObjectPieces> reader_;
  std::unique_ptr<TokenBuffer> tokens_ = std::make_unique<TokenBuffer>();
};

TEST_P(PythonProcesses, HaveTheStacksThatPythonShows) {
  for (const ExpectedStack& stack : process_->stacks()) {
    SCOPED_TRACE(stack.kind);
    reader_->forget();
    const std::uint64_t thread = find_python_states(python(), *reader_, identity(stack), 1).first();
    ASSERT_NE(thread, 0u);
    EXPECT_EQ(walk_python(python(), *reader_, {{thread}}, *tokens_), PythonWalkEnd::kRoot);
    EXPECT_THAT(frames_of(python(), *reader_, tokens_->tokens()),
                ::testing::ElementsAreArray(stack.frames));
  }
}

TEST_P(PythonProcesses, HaveMarksInAscendingOrder) {
  for (const ExpectedStack& stack : process_->stacks()) {
    SCOPED_TRACE(stack.kind);
    const std::uint64_t thread = find_python_states(python(), *reader_, identity(stack), 1).first();
    walk_python(python(), *reader_, {{thread}}, *tokens_);
    std::uint64_t previous = 0;
    for (const Token& token : tokens_->tokens()) {
      if ((token.flags & kTokenEndsLoop) == 0) continue;
      if (python().layout.frames == PythonFrameStyle::kObjects) {
        EXPECT_EQ(token.mark, 0u);
      } else {
        EXPECT_GT(token.mark, previous);
      }
      previous = token.mark;
    }
    EXPECT_NE(tokens_->tokens().back().flags & kTokenEndsLoop, 0);
  }
}

TEST_P(PythonProcesses, HaveTheLinesThatPythonKnows) {
  std::size_t checked = 0;
  for (const ExpectedCode& code : process_->codes()) {
    Token token{.code = code.address};
    ASSERT_TRUE(read_python_fingerprint(python(), *reader_, code.address, token.fingerprint));
    for (const auto& [offset, expected] : code.lines) {
      std::uint32_t line = 0;
      token.position = offset;
      ASSERT_TRUE(read_python_line(python(), *reader_, token, line));
      ASSERT_EQ(line, expected) << "offset " << offset << " of code from line " << code.first_line;
      ++checked;
    }
  }
  EXPECT_GT(checked, 10'000u);
}

TEST_P(PythonProcesses, HaveAGilThatOneOfTheirThreadsHeldLast) {
  const ExpectedStack& stack = process_->stacks().front();
  const std::uint64_t thread = find_python_states(python(), *reader_, identity(stack), 1).first();
  PythonGil gil;
  ASSERT_TRUE(read_python_gil(python(), *reader_, thread, gil));
  EXPECT_FALSE(gil.is_locked);  // all threads are in read()
  const std::uint64_t holder =
      read_python_tid(python(), *reader_, gil.holder, find_tid_in_pthread());
  EXPECT_THAT(process_->stacks(),
              ::testing::Contains(::testing::Field(&ExpectedStack::tid, holder)));
}

TEST_P(PythonProcesses, KnowTheirThreadsOnly) {
  const ThreadIdentity foreign{.tid = static_cast<std::uint64_t>(::getpid()),
                               .pthread = 0,
                               .tid_in_pthread = find_tid_in_pthread()};
  EXPECT_EQ(find_python_states(python(), *reader_, foreign, 1).first(), 0u);
  const ExpectedStack& stack = process_->stacks().front();
  const std::uint64_t thread = find_python_states(python(), *reader_, identity(stack), 1).first();
  EXPECT_TRUE(is_python_thread(python(), *reader_, thread, identity(stack)));
  EXPECT_FALSE(is_python_thread(python(), *reader_, thread, foreign));
  EXPECT_FALSE(is_python_thread(python(), *reader_, 0x1000, identity(stack)));
}

TEST_P(PythonProcesses, LoseATokenWithAnotherFingerprint) {
  const ExpectedStack& stack = process_->stacks().front();
  const std::uint64_t thread = find_python_states(python(), *reader_, identity(stack), 1).first();
  walk_python(python(), *reader_, {{thread}}, *tokens_);
  Token token = tokens_->tokens().front();
  token.fingerprint ^= 1;
  std::uint32_t line = 0;
  const auto text = std::make_unique<FunctionText>();
  EXPECT_FALSE(read_python_function(python(), *reader_, token, *text));
  EXPECT_FALSE(read_python_line(python(), *reader_, token, line));
}

class RefusedPythons : public ::testing::TestWithParam<Interpreter> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RefusedPythons);

TEST_P(RefusedPythons, SayWhy) {
  PythonProcess process(GetParam());
  ASSERT_TRUE(process.is_ready());
  const PythonDetection found = process.detect();
  EXPECT_EQ(found.state, DetectionState::kRefused);
  ASSERT_NE(found.reason, nullptr);
  const bool is_debug = GetParam().program.back() == 'd';
  const bool is_free_threaded = GetParam().program.back() == 't';
  EXPECT_STREQ(found.reason, is_debug           ? "debug build"
                             : is_free_threaded ? "free-threaded build"
                                                : "unsupported version; 3.8 to 3.15 are");
}

INSTANTIATE_TEST_SUITE_P(Found, RefusedPythons, ::testing::ValuesIn(find_refused_interpreters()),
                         name_of_interpreter);
// Without an interpreter the suite fails: nothing would have been tested.
INSTANTIATE_TEST_SUITE_P(Found, PythonProcesses, ::testing::ValuesIn(find_interpreters()),
                         name_of_interpreter);

}  // namespace
}  // namespace swipr::runtimes
