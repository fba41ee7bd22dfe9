// Output of record for people: progress, summary, file names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands/output/progress.h"
#include "cli/commands/output/terminal.h"
#include "cli/commands/record/record_output.h"
#include "cli/commands/record/record_summary.h"

namespace swipr::commands {
namespace {

using namespace std::chrono_literals;

session::SessionTotals some_totals() {
  session::SessionTotals totals;
  totals.processes = 1;
  totals.ticks_asked = 1000;
  totals.ticks = 998;
  totals.ticks_missed = 2;
  totals.samples = 5990;
  totals.threads = 6;
  totals.stacks_walked = 1000;
  totals.stacks_rooted = 998;
  return totals;
}

TEST(FormatSummary, SaysWhatWasAskedForAndWhatCame) {
  EXPECT_EQ(format_summary(some_totals(), 47920),
            "1,000 ticks asked, 998 delivered, 2 missed; 5,990 samples of 6 threads, 0 dropped; "
            "99.8 % of stacks complete; 47,920 bytes (8.0 per sample)");
}

TEST(FormatSummary, SaysHowManySamplesHaveNoStack) {
  session::SessionTotals totals = some_totals();
  totals.stacks_missing = 47;
  EXPECT_THAT(format_summary(totals, 47920),
              testing::HasSubstr("99.8 % of stacks complete, 47 samples without a stack;"));
}

TEST(FormatSummary, SaysThatThreadsWereLeftOut) {
  session::SessionTotals totals = some_totals();
  totals.ticks_stretched = 900;
  EXPECT_THAT(format_summary(totals, 47920),
              testing::HasSubstr(
                  "; threads that had hardly run were skipped in 900 ticks (overhead limit);"));
}

TEST(FormatSummary, SurvivesNothing) {
  EXPECT_EQ(format_summary({}, 0),
            "0 ticks asked, 0 delivered, 0 missed; 0 samples of 0 threads, 0 dropped; "
            "nothing was recorded; 0 bytes");
}

TEST(FormatNextCommand, QuotesNames) {
  EXPECT_EQ(format_next_command("a-1.swipr"), "swipr report a-1.swipr");
  EXPECT_EQ(format_next_command("it's.swipr"), R"(swipr report 'it'\''s.swipr')");
}

TEST(FormatProgress, ShowsABarWhenTheEndIsKnown) {
  session::SessionProgress progress{1s, 0.5, some_totals()};
  EXPECT_EQ(format_progress(progress, 200),
            "[############............]  50 %  998 ticks  5,990 samples  6 threads  0 dropped");
  progress.done = -1;
  EXPECT_THAT(format_progress(progress, 200), testing::StartsWith("1 s  998 ticks"));
}

TEST(FormatProgress, FitsAnyWidth) {
  const session::SessionProgress progress{1s, 0.5, some_totals()};
  for (std::size_t columns = 0; columns < 100; ++columns) {
    EXPECT_LE(format_progress(progress, columns).size(), columns);
  }
  EXPECT_EQ(format_progress(progress, 45), "[############............]  50 %  998 ticks");
}

TEST(MakeFileName, HoldsProgramPidAndTime) {
  std::tm time{};
  time.tm_year = 126;
  time.tm_mon = 10;
  time.tm_mday = 21;
  time.tm_hour = 9;
  time.tm_min = 5;
  EXPECT_EQ(make_file_name("app", Pid{42}, time, ".swipr"), "app-42-20261121-090500.swipr");
  EXPECT_EQ(make_file_name("kworker/0:1", Pid{42}, time, ""), "kworker_0:1-42-20261121-090500");
  EXPECT_EQ(make_file_name("-x\n", Pid{42}, time, ""), "_-x_-42-20261121-090500");
  EXPECT_EQ(make_file_name("a\xe2\x80\xae\xff", Pid{42}, time, ""), "a_u202e_-42-20261121-090500");
}

}  // namespace
}  // namespace swipr::commands
