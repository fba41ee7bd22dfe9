#include "cli/session/launch/descendants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/session/session_totals.h"
#include "common/host/proc.h"

namespace swipr::session {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kRendezvous = "RENDEZVOUS";

// A sleep process with this environment.
class Sleeper {
 public:
  explicit Sleeper(std::vector<std::string> environment) {
    std::vector<char*> variables;
    for (std::string& variable : environment) variables.push_back(variable.data());
    variables.push_back(nullptr);
    std::string name = "sleep", time = "600";
    char* arguments[] = {name.data(), time.data(), nullptr};
    EXPECT_EQ(
        ::posix_spawn(&pid_.value, "/bin/sleep", nullptr, nullptr, arguments, variables.data()), 0);
    while (!has_started()) std::this_thread::sleep_for(1ms);
  }
  ~Sleeper() {
    ::kill(pid_.value, SIGKILL);
    ::waitpid(pid_.value, nullptr, 0);
  }
  Pid pid() const { return pid_; }

 private:
  // posix_spawn returns during the exec, when the child may still have the memory of this process.
  bool has_started() const {
    std::error_code error;
    const auto image = std::filesystem::read_symlink(host::proc_path(pid_, "exe"), error);
    if (image == std::filesystem::read_symlink("/proc/self/exe", error)) return false;
    const auto stat = host::read_process_stat(pid_);
    return !stat || stat->environment_end != 0;
  }

  Pid pid_;
};

std::vector<Unrecorded> look(Descendants& descendants, const std::set<Pid>& connected = {}) {
  descendants.look(connected);
  std::vector<Unrecorded> found = descendants.unrecorded();
  std::erase_if(found, [](const Unrecorded& each) { return each.pid.value == ::getpid(); });
  return found;
}

TEST(Descendants, AreNamedWhoDoNotKnowOfTheRecording) {
  const Sleeper empty({});
  const Sleeper other({"LD_PRELOAD=/x/libswipr_preload.so", "SWIPR_RENDEZVOUS=another"});
  Descendants descendants(Pid{::getpid()}, kRendezvous);
  const auto found = look(descendants);
  ASSERT_EQ(found.size(), 2u);
  for (const Unrecorded& process : found) {
    EXPECT_EQ(process.name, "sleep");
    EXPECT_THAT(process.reason, HasSubstr("without the environment of the command"));
  }
  // Which is reported first depends on when each has finished its exec.
  const std::set<Pid> named{found[0].pid, found[1].pid};
  EXPECT_EQ(named, (std::set<Pid>{other.pid(), empty.pid()}));
}

TEST(Descendants, AreNamedWithWhatKeepsThePreloadAsleep) {
  const Sleeper asleep(
      {"LD_PRELOAD=/x/libswipr_preload.so", "SWIPR_RENDEZVOUS=RENDEZVOUS", "SWIPR_DISABLE=1"});
  Descendants descendants(Pid{::getpid()}, kRendezvous);
  const auto found = look(descendants);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].reason, HasSubstr("SWIPR_DISABLE=1"));
}

TEST(Descendants, AreNotNamedWhileTheyMayConnect) {
  const Sleeper loading({"LD_PRELOAD=/x/libswipr_preload.so", "SWIPR_RENDEZVOUS=RENDEZVOUS"});
  Descendants descendants(Pid{::getpid()}, kRendezvous);
  EXPECT_THAT(look(descendants), IsEmpty());
}

TEST(Descendants, AreNamedWithoutAReasonWhenTheyDoNotConnectInTime) {
  const Sleeper silent({"LD_PRELOAD=/x/libswipr_preload.so", "SWIPR_RENDEZVOUS=RENDEZVOUS"});
  Descendants descendants(Pid{::getpid()}, kRendezvous);
  const auto end = std::chrono::steady_clock::now() + 40s;
  std::vector<Unrecorded> found;
  while (found.empty() && std::chrono::steady_clock::now() < end) {
    found = look(descendants);
    std::this_thread::sleep_for(10ms);
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pid, silent.pid());
  EXPECT_THAT(found[0].reason, HasSubstr("has not connected"));
}

TEST(Descendants, AreNotNamedWhenTheyAreOrWereRecorded) {
  const Sleeper recorded({});
  Descendants connected(Pid{::getpid()}, kRendezvous);
  EXPECT_THAT(look(connected, {recorded.pid()}), IsEmpty());
  Descendants before(Pid{::getpid()}, kRendezvous);
  before.on_connected(recorded.pid());
  EXPECT_THAT(look(before), IsEmpty()) << "the same image, whose recording has ended";
  Descendants late(Pid{::getpid()}, kRendezvous);
  EXPECT_EQ(look(late).size(), 1u);
  late.on_connected(recorded.pid());
  EXPECT_THAT(look(late), IsEmpty());
}

TEST(Descendants, AreOnlyThoseOfTheCommand) {
  const Sleeper other({});
  const Sleeper command({});
  Descendants descendants(command.pid(), kRendezvous);
  const auto found = look(descendants);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pid, command.pid());
}

TEST(Descendants, AreDescribedByProgramAndReason) {
  const auto lines = describe({{Pid{7}, "a", "is so", 200ms},
                               {Pid{8}, "b", "is so", 1500ms},
                               {Pid{9}, "a", "is so", 300ms}});
  EXPECT_THAT(
      lines,
      ElementsAre(
          "not recorded: a (2 processes, such as 7, with 0.500 s of CPU time or more): is so",
          "not recorded: b (process 8, with 1.500 s of CPU time or more): is so"));
  std::vector<Unrecorded> many;
  for (int number = 0; number < 20; ++number) {
    many.push_back({Pid{number + 1}, "p" + std::to_string(number), "is so", 0ms});
  }
  EXPECT_EQ(describe(many).size(), 7u);
  EXPECT_THAT(describe(many).back(), HasSubstr("14 more programs"));
  many.erase(many.begin() + 7, many.end());
  EXPECT_EQ(describe(many).back(), "not recorded: 1 more program");
}

TEST(MissingCpu, IsToldWhereItIsMoreThanNoise) {
  EXPECT_THAT(describe_missing_cpu(2s, 500ms),
              HasSubstr("1.500 s of the command's 2.000 s of CPU time (75 %) are in no sample"));
  EXPECT_EQ(describe_missing_cpu(2s, 1990ms), "");
  EXPECT_EQ(describe_missing_cpu(30ms, 0ms), "");
  EXPECT_EQ(describe_missing_cpu(10s, 9800ms), "") << "below one twentieth";
  EXPECT_EQ(describe_missing_cpu(1s, 2s), "");
}

}  // namespace
}  // namespace swipr::session
