#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>

#include "cli/session/checkup/checkup.h"

namespace swipr::session {
namespace {

// "1 thread" of a process with one; empty: the finding is missing.
std::string state_of(Pid pid) {
  const auto findings = check_process(pid);
  const auto state = std::ranges::find(findings, "state", &Finding::subject);
  return state == findings.end() ? "" : state->text;
}

TEST(CheckProcess, CountsOneThreadInTheSingular) {
  std::string name = "sleep", time = "600";
  char* arguments[] = {name.data(), time.data(), nullptr};
  char* variables[] = {nullptr};
  pid_t pid = -1;
  ASSERT_EQ(::posix_spawn(&pid, "/bin/sleep", nullptr, nullptr, arguments, variables), 0);
  EXPECT_EQ(state_of(Pid{pid}), "1 thread");
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace swipr::session
