// Tasks of asyncio that are read from the memory of real interpreters, against what Python says.
#include "preload/runtimes/python/python_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "preload/runtimes/python/python_names.h"
#include "tests/unit/preload/runtimes/python_process.h"

namespace swipr::runtimes {
namespace {

using TaskFrames = std::vector<ExpectedFrame>;

class PythonTasks : public ::testing::TestWithParam<Interpreter> {
 protected:
  void SetUp() override {
    constexpr std::size_t kTasks = 11;
    process_ = std::make_unique<PythonProcess>(GetParam(), SWIPR_PYTHON_TASKS_APP, kTasks, 1);
    ASSERT_TRUE(process_->is_ready()) << GetParam().label() << " " << process_->stacks().size();
    const PythonDetection found = process_->detect();
    ASSERT_EQ(found.state, DetectionState::kFound);
    python_ = found.runtime;
    reader_ = std::make_unique<ObjectPieces>(process_->reader());
    ASSERT_TRUE(find_python_task_types(process_->dynamic(), process_->load_bias(),
                                       process_->reader(), types_));
    EXPECT_EQ(find_python_task_home(python_, types_, *reader_, home_), has_tasks());
  }
  bool has_tasks() const { return python_.layout.minor >= kFirstPythonWithTasks; }
  TaskFrames frames() {
    const auto text = std::make_unique<FunctionText>();
    TaskFrames frames;
    for (std::uint32_t at = awaits_->count; at-- > 0;) {
      const Token& token = awaits_->tokens[at];
      std::uint32_t line = 0;
      EXPECT_TRUE(read_python_function(python_, *reader_, token, *text));
      EXPECT_TRUE(read_python_line(python_, *reader_, token, line));
      frames.push_back(
          {std::string(text->name.view()), std::string(text->file.view()), text->first_line, line});
    }
    return frames;
  }

  std::unique_ptr<PythonProcess> process_;
  PythonRuntime python_;
  PythonTaskTypes types_;
  PythonTaskHome home_;
  std::unique_ptr<ObjectPieces> reader_;
  std::unique_ptr<PythonTaskList> list_ = std::make_unique<PythonTaskList>();
  std::unique_ptr<PythonAwaits> awaits_ = std::make_unique<PythonAwaits>();
};

TEST_P(PythonTasks, WaitWherePythonSays) {
  ASSERT_EQ(list_python_tasks(python_, types_, home_, *reader_, *list_), has_tasks());
  if (!has_tasks()) return;
  EXPECT_EQ(list_->left_out, 0u);
  std::map<std::string, TaskFrames> found;
  unsigned running = 0;
  for (const std::uint64_t address : std::span(list_->tasks).first(list_->count)) {
    PythonTask task;
    const PythonTaskState state =
        read_python_task(python_, types_, home_, *reader_, address, task, *awaits_);
    if (state == PythonTaskState::kRuns) ++running;
    if (state != PythonTaskState::kWaits) continue;
    const std::string name(awaits_->name.view());
    EXPECT_TRUE(found.emplace(name, frames()).second) << name;
  }
  EXPECT_EQ(running, 1u) << "the one that blocks the loop";
  for (const ExpectedStack& stack : process_->stacks()) {
    EXPECT_THAT(found["task " + stack.kind], ::testing::ElementsAreArray(stack.frames))
        << stack.kind;
  }
  EXPECT_EQ(found.size(), process_->stacks().size() + 3)
      << "that without a name, and two of gather";
  for (const char* const gone : {"task ended", "task cancelled"})
    EXPECT_FALSE(found.contains(gone));
}

INSTANTIATE_TEST_SUITE_P(All, PythonTasks, ::testing::ValuesIn(find_interpreters()),
                         name_of_interpreter);

}  // namespace
}  // namespace swipr::runtimes
