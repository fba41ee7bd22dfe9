#include "common/host/proc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace swipr::host {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;

constexpr std::string_view kStatus =
    "Name:\tweb server\nUmask:\t0022\nState:\tS "
    "(sleeping)\nTgid:\t41\nNgid:\t0\nPid:\t43\nPPid:\t7\n"
    "TracerPid:\t0\nUid:\t1000\t1001\t1002\t1003\nGid:\t0\t0\t0\t0\nNSpid:\t43\t5\t2\nThreads:"
    "\t12\n";

TEST(ParseProcessStatus, ReadsTheFields) {
  const auto status = parse_process_status(kStatus);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->name, "web server");
  EXPECT_EQ(status->state, 'S');
  EXPECT_EQ(status->group, Pid{41});
  EXPECT_EQ(status->parent, Pid{7});
  EXPECT_EQ(status->namespace_pid, Pid{2});
  EXPECT_EQ(status->uid, 1001u);
  EXPECT_EQ(status->threads, 12u);
}

TEST(ParseProcessStatus, RefusesTextWithoutTgid) {
  EXPECT_FALSE(parse_process_status(""));
  EXPECT_FALSE(parse_process_status("Name:\tx\nTgid:\n"));
  EXPECT_FALSE(parse_process_status("\0\xff:::\n\n:"sv));
}

TEST(ProcessStat, HasItsNumbersBehindAnyName) {
  const auto stat = parse_process_stat(
      "4711 (a) (b) S 42 4711 4711 0 -1 4194560 91 0 0 0 7 5 1 1 20 0 1 0 987 4096 100");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) (b");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, Pid{42});
  EXPECT_EQ(stat->cpu_ticks, 12u);
  EXPECT_EQ(stat->start_ticks, 987u);
  EXPECT_EQ(stat->environment_end, 0u) << "older kernels do not tell";
  EXPECT_FALSE(parse_process_stat("4711 (a) S 42"));
  EXPECT_FALSE(parse_process_stat(""));
}

TEST(ProcessStat, HasTheEndOfItsEnvironment) {
  const auto own = read_process_stat(Pid{::getpid()});
  ASSERT_TRUE(own);
  EXPECT_GT(own->environment_end, reinterpret_cast<std::uintptr_t>(environ[0]));
  EXPECT_LT(own->environment_end - reinterpret_cast<std::uintptr_t>(environ[0]), 1u << 20);
}

TEST(ParseStartTicks, IsNotFooledByTheName) {
  EXPECT_EQ(
      parse_start_ticks("7 (a) R 1 1) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"),
      4711u);
}

TEST(ParseStartTicks, RefusesShortText) {
  EXPECT_EQ(parse_start_ticks("7 (a) S 1 2 3"), std::nullopt);
  EXPECT_EQ(parse_start_ticks("7 a S 1"), std::nullopt);
}

TEST(FindVariable, MatchesWholeNames) {
  constexpr auto kEnvironment = "PATHX=1\0PATH=/bin\0EMPTY=\0PATH=/other\0"sv;
  EXPECT_EQ(find_variable(kEnvironment, "PATH"), "/bin");
  EXPECT_EQ(find_variable(kEnvironment, "EMPTY"), "");
  EXPECT_EQ(find_variable(kEnvironment, "PAT"), std::nullopt);
}

TEST(SplitArguments, KeepsEmptyOnes) {
  EXPECT_THAT(split_arguments("a\0\0b c\0"sv), ElementsAre("a", "", "b c"));
  EXPECT_THAT(split_arguments(""), ElementsAre());
}

TEST(ReadProcessStatus, KnowsThisProcess) {
  const Pid self{::getpid()};
  const auto status = read_process_status(self);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->group, self);
  EXPECT_EQ(status->parent, Pid{::getppid()});
  EXPECT_EQ(status->uid, ::geteuid());
  EXPECT_TRUE(process_exists(self));
  EXPECT_THAT(list_processes(), testing::Contains(self));
  EXPECT_TRUE(read_process_age(self).has_value());
  EXPECT_TRUE(read_namespace_inode(self, "mnt").has_value());
}

TEST(ReadFile, StopsAtTheLimit) {
  const auto text = read_file("/proc/self/maps", 10);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), 10u);
}

TEST(ReadFile, NamesTheFileInItsError) {
  const auto text = read_file("/no/such/file");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message(), "/no/such/file: No such file or directory");
}

}  // namespace
}  // namespace swipr::host
