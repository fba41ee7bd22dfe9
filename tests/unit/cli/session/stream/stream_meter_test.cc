#include "cli/session/stream/stream_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/session/session_totals.h"
#include "tests/unit/cli/session/stream_fixture.h"

namespace swipr::session {
namespace {

using namespace std::chrono_literals;

TEST(StreamMeter, CountsTicksSamplesAndThreads) {
  StreamMeter meter;
  ASSERT_TRUE(meter.observe(source_payload(4711, 100)));
  ASSERT_TRUE(meter.observe(tick_payload(3, 10'000'000) + tick_payload(2, 20'000'000)));
  const StreamSummary& summary = meter.summary();
  EXPECT_EQ(summary.pid, Pid{4711});
  EXPECT_EQ(summary.command_name, "app");
  EXPECT_EQ(summary.interval, 10ms);
  EXPECT_EQ(summary.ticks_asked, 100u);
  EXPECT_EQ(summary.ticks, 2u);
  EXPECT_EQ(summary.samples, 10u);  // five entries for two ticks each
  EXPECT_EQ(summary.threads, 1u);
  EXPECT_EQ(summary.elapsed, 30ms);
  EXPECT_FALSE(summary.end);
}

TEST(StreamMeter, BelievesTheLastTotals) {
  StreamMeter meter;
  ASSERT_TRUE(meter.observe(totals_payload(5, 10, 0) + totals_payload(7, 14, 3) + end_payload()));
  EXPECT_EQ(meter.summary().total(wire::counter::kTicks, 0), 7u);
  EXPECT_EQ(meter.summary().total(wire::counter::kSamplesDropped, 0), 3u);
  EXPECT_EQ(meter.summary().total("unknown", 42), 42u);
  EXPECT_EQ(meter.summary().end, wire::EndReason::kProcessExit);
}

TEST(StreamMeter, CountsWhatCameBehindTheLastTotals) {
  StreamMeter meter;
  ASSERT_TRUE(meter.observe(source_payload(4711, 100) + totals_payload(0, 0, 0)));
  ASSERT_TRUE(meter.observe(tick_payload(3, 10'000'000) + tick_payload(2, 0)));  // one tick
  const StreamSummary& summary = meter.summary();
  EXPECT_EQ(summary.total(wire::counter::kTicks, summary.ticks), 1u);
  EXPECT_EQ(summary.total(wire::counter::kSamples, summary.samples), 10u);
}

TEST(StreamMeter, TellsEachWarningWithItsFirstProcess) {
  SessionTotals totals;
  for (const std::uint64_t pid : {4711u, 4712u, 4713u}) {
    StreamMeter meter;
    ASSERT_TRUE(meter.observe(source_payload(pid) +
                              message_payload(wire::MessageLevel::kWarning, "no samples") +
                              message_payload(wire::MessageLevel::kNote, "a note")));
    if (pid == 4713) {
      ASSERT_TRUE(meter.observe(message_payload(wire::MessageLevel::kWarning, "no names")));
    }
    totals.add(meter.summary());
  }
  EXPECT_THAT(describe_warnings(totals),
              testing::ElementsAre("app (4713): no names", "app (4711) and 2 more: no samples"));
}

TEST(StreamMeter, SkipsUnknownRecords) {
  StreamMeter meter;
  EXPECT_TRUE(meter.observe(to_bytes(std::string_view("\x7f\x02xx", 4)) + end_payload()));
  EXPECT_TRUE(meter.summary().end);
}

TEST(StreamMeter, NoticesACutRecord) {
  const Bytes tick = tick_payload(2, 1);
  for (std::size_t size = 1; size < tick.size(); ++size) {
    StreamMeter meter;
    EXPECT_FALSE(meter.observe(std::span(tick).first(size))) << size;
  }
}

TEST(StreamMeter, RefusesImpossibleProcessIds) {
  StreamMeter meter;
  EXPECT_FALSE(meter.observe(source_payload(std::uint64_t{1} << 40)));
}

}  // namespace
}  // namespace swipr::session
