// Counters of a recording that is read, and how its processes ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/cli/import/read_back.h"
#include "tests/unit/cli/import/swipr_file.h"

namespace swipr {
namespace {

using namespace std::chrono_literals;
using test::begin;
using test::kTickNs;
using test::read;
using test::SwiprFile;
using testing::ElementsAre;
using testing::HasSubstr;
using wire::Encoder;

TEST(SwiprCounts, WarnsAboutWhatTheAgentCounted) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    wire::TotalsEncoder totals(out, kTickNs);
    totals.put(wire::counter::kSamples, 90);
    totals.put(wire::counter::kSamplesDropped, 10);
    totals.put(wire::counter::kTicks, 3);
    totals.put(wire::counter::kTicksMissed, 2);
    totals.put(wire::counter::kStacksWalked, 80);
    totals.put(wire::counter::kStacksNameless, 7);
    totals.end();
    encode(out, wire::MessageRecord{wire::MessageLevel::kWarning, "two\nlines"});
    test::end(out, kTickNs, wire::EndReason::kFailed, "no memory");
  });
  EXPECT_THAT(
      read(file.bytes()).warnings,
      ElementsAre("app (42): two lines", "app (42): the recording failed: no memory",
                  "app (42): 10 of 100 samples were dropped because the reader was too slow",
                  "app (42): 2 of 5 ticks came too late and were skipped",
                  "app (42): in 7 of 80 stacks functions are [function gone] because the names of "
                  "those that were seen before fill the memory for names"));
}

TEST(SwiprCounts, TellsAnExecedImageFromAProcessThatVanished) {
  const auto vanish = [](std::uint64_t pid, std::uint64_t start) {
    return [pid, start](Encoder& out) {
      wire::SourceRecord record;
      record.pid = pid;
      record.start_monotonic_ns = start;
      record.command_name = "app";
      encode(out, record);
      test::end(out, 0, wire::EndReason::kConnectionLost);
    };
  };
  SwiprFile file;
  file.block(0, vanish(42, 100)).block(1, vanish(42, 200)).block(2, vanish(50, 100));
  EXPECT_THAT(read(file.bytes()).warnings,
              ElementsAre(HasSubstr("app (42): the recording has no end record"),
                          HasSubstr("app (50): the recording has no end record")));
}

// A killed process sends no last totals: data after the last totals counts.
TEST(SwiprCounts, CountsWhatAKilledProcessHasSent) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::totals(out, 0, wire::counter::kSamples, 0);
    test::stack(out, 1, {0x10010, 0x10020}, {.flags = wire::kStackRootReached});
    test::tick(out, kTickNs, {{.thread_index = 1, .stack_id = 1, .cpu_ns = 7}});
    test::tick(out, 0, {{.thread_index = 1, .same_stack = true, .cpu_ns = 2}});  // the same tick
    test::tick(out, kTickNs, {{.thread_index = 1, .ticks = 3}});
    test::end(out, 0, wire::EndReason::kConnectionLost);
  });
  const profile::Process process = read(file.bytes()).processes.at(0);
  EXPECT_FALSE(process.complete);
  EXPECT_EQ(process.duration, 20ms);
  EXPECT_EQ(process.totals.at("samples"), 5u);
  EXPECT_EQ(process.totals.at("stacks_missing"), 3u);
  EXPECT_EQ(process.totals.at("ticks"), 2u);
  EXPECT_EQ(process.totals.at("threads"), 1u);
  EXPECT_EQ(process.totals.at("stacks_walked"), 1u);
  EXPECT_EQ(process.totals.at("stacks_rooted"), 1u);
  EXPECT_EQ(process.totals.at("process_cpu_ns"), 9u);
}

TEST(SwiprCounts, AnImageThatExecReplacedIsComplete) {
  SwiprFile file;
  for (const std::uint32_t image : {0u, 1u}) {
    file.block(image, [image](Encoder& out) {
      wire::SourceRecord record;
      record.pid = 42;
      record.start_monotonic_ns = 100 + image;
      encode(out, record);
      test::end(out, 0,
                image == 0 ? wire::EndReason::kConnectionLost : wire::EndReason::kProcessExit);
    });
  }
  for (const profile::Process& process : read(file.bytes()).processes) {
    EXPECT_TRUE(process.complete);
  }
}

}  // namespace
}  // namespace swipr
