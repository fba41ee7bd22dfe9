#include "cli/export/text/text.h"

#include <gtest/gtest.h>

namespace swipr::exporters {
namespace {

using profile::kNone;
using profile::State;

TEST(ThreadName, FallsBackToTheTid) {
  EXPECT_EQ(thread_name({0, Tid{7}, "worker"}), "worker");
  EXPECT_EQ(thread_name({0, Tid{7}, ""}), "thread 7");
}

TEST(StateFrame, NamesTheSystemCallInWhichAThreadWaits) {
  profile::Recording recording;
  recording.stacks = {{{}, kNone, "epoll_wait", true}, {{}, kNone, "syscall 9999", true}, {}};
  EXPECT_EQ(state_frame(recording, State::kBlocked, 0), "[epoll_wait]");
  EXPECT_EQ(state_frame(recording, State::kBlocked, 1), "[syscall 9999]");
  EXPECT_EQ(state_frame(recording, State::kBlocked, 2), "[blocked]");
  EXPECT_EQ(state_frame(recording, State::kBlocked, kNone), "[blocked]");
  EXPECT_EQ(state_frame(recording, State::kRunnable, 0), "[runnable]");
  EXPECT_EQ(state_frame(recording, State::kRunning, 0), "");
  EXPECT_EQ(state_frame(recording, State::kUnknown, 0), "");
}

TEST(StateFrame, NamesWhatALanguageWaitsFor) {
  profile::Recording recording;
  const auto text = [&recording](RuntimeWait wait, const char* type) {
    recording.stacks = {{{}, kNone, "futex", true}};
    recording.stacks[0].runtime_wait = wait;
    recording.stacks[0].wait_type = type;
    return state_frame(recording, State::kBlocked, 0);
  };
  EXPECT_EQ(text(RuntimeWait::kGil, ""), "[GIL]");
  recording.runtimes = {{0, Language::kRuby, "3.1.7", ""}};
  EXPECT_EQ(text(RuntimeWait::kGil, ""), "[GVL]");
  recording.runtimes.push_back({0, Language::kPython, "3.11.2", ""});
  EXPECT_EQ(text(RuntimeWait::kGil, ""), "[GIL]");
  EXPECT_EQ(text(RuntimeWait::kMonitor, "java.util.Vector"), "[monitor java.util.Vector]");
  EXPECT_EQ(text(RuntimeWait::kMonitor, ""), "[monitor]");
  EXPECT_EQ(text(RuntimeWait::kCondition, "Job"), "[wait Job]");
  EXPECT_EQ(text(RuntimeWait::kNone, "Job"), "[futex]");
  EXPECT_EQ(text(static_cast<RuntimeWait>(200), "Job"), "[futex]");
  EXPECT_EQ(text(RuntimeWait::kMonitor, "a\nb").find('\n'), std::string::npos);
}

}  // namespace
}  // namespace swipr::exporters
