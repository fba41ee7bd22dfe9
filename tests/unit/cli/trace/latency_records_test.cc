#include "cli/trace/latency_records.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "common/wire/encoder.h"

namespace swipr::tracing {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kEveryBit = ~std::uint64_t{0};

class BlockOf {
 public:
  BlockOf& probe(std::uint64_t number, wire::ProbeState state, std::string_view text = "") {
    wire::encode(out_, wire::ProbeRecord{number, state, wire::ProbeReason::kNone, 0, 16, 32, text});
    return *this;
  }
  BlockOf& latency(const wire::LatencyRecord& record,
                   std::initializer_list<wire::BucketCount> all) {
    wire::LatencyEncoder latency(out_, record);
    for (const wire::BucketCount& bucket : all) latency.put(bucket);
    latency.end();
    return *this;
  }
  BlockOf& end(wire::EndReason reason, std::string_view text) {
    wire::EndRecord record;
    record.reason = reason;
    record.text = text;
    wire::encode(out_, record);
    return *this;
  }
  std::span<const std::byte> bytes() const { return out_.bytes(); }

 private:
  std::array<std::byte, 4096> room_{};
  wire::Encoder out_{room_};
};

wire::LatencyRecord stretch(std::uint64_t probe, std::uint64_t begin, std::uint64_t end,
                            std::uint64_t sum, std::uint64_t max) {
  wire::LatencyRecord record;
  record.probe = probe;
  record.begin_ns = begin;
  record.end_ns = end;
  record.sum_ns = sum;
  record.max_ns = max;
  return record;
}

TEST(LatencyRecords, FollowTheStateOfEachFunction) {
  LatencyRecords records(3);
  EXPECT_EQ(records.count(Probe::State::kUnanswered), 3u);
  records.apply(BlockOf()
                    .probe(0, wire::ProbeState::kAttached)
                    .probe(1, wire::ProbeState::kRefused, "it is too short")
                    .bytes());
  EXPECT_EQ(records.count(Probe::State::kAttached), 1u);
  EXPECT_EQ(records.count(Probe::State::kUnanswered), 1u);
  EXPECT_EQ(records.probes()[1].reason, "it is too short");
  records.apply(BlockOf().probe(0, wire::ProbeState::kDetached, "its calls cost too much").bytes());
  EXPECT_EQ(records.probes()[0].state, Probe::State::kDetached);
  EXPECT_EQ(records.damaged(), 0u);
}

TEST(LatencyRecords, AddUpAndAreTakenByInterval) {
  LatencyRecords records(1);
  records.apply(BlockOf().probe(0, wire::ProbeState::kAttached).bytes());
  EXPECT_FALSE(records.is_interval_complete());
  records.apply(BlockOf()
                    .latency(stretch(0, 0, 1'000'000'000, 5000, 3000),
                             {{bucket_of(2000), 1}, {bucket_of(3000), 1}})
                    .bytes());
  EXPECT_TRUE(records.is_interval_complete());
  EXPECT_EQ(records.probes()[0].latest.quantile(1), 3000ns);
  records.take_latest();
  EXPECT_FALSE(records.is_interval_complete());
  // The longest call of all is not one of this interval.
  records.apply(
      BlockOf()
          .latency(stretch(0, 1'000'000'000, 3'000'000'000, 1000, 3000), {{bucket_of(1000), 1}})
          .bytes());
  const Probe& probe = records.probes()[0];
  EXPECT_EQ(probe.latest.calls(), 1u);
  EXPECT_NEAR(static_cast<double>(probe.latest.quantile(1)->count()), 1000, 16);
  EXPECT_EQ(probe.latest_traced, 2s);
  EXPECT_EQ(probe.all.calls(), 3u);
  EXPECT_EQ(probe.all.quantile(1), 3000ns);
  EXPECT_EQ(probe.all.totals().sum, 6000ns);
  EXPECT_EQ(probe.traced, 3s);
}

TEST(LatencyRecords, OfSomeThreadsOnlyAreNotAdded) {
  LatencyRecords records(1);
  wire::LatencyRecord part = stretch(0, 0, 1, 1, 1);
  part.tid = 4711;
  records.apply(BlockOf().latency(part, {{1, 1}}).bytes());
  EXPECT_EQ(records.probes()[0].all.calls(), 0u);
  EXPECT_EQ(records.damaged(), 0u);
}

TEST(LatencyRecords, OfThreadsAreKeptApart) {
  LatencyRecords records(1);
  wire::LatencyRecord part = stretch(0, 0, 1, 1, 1);
  part.tid = 7;
  records.apply(BlockOf().latency(part, {{1, 4}}).bytes());
  part.tid = 8;
  records.apply(BlockOf().latency(part, {{1, 2}}).bytes());
  const Probe& probe = records.probes()[0];
  EXPECT_EQ(probe.threads.at(7).calls(), 4u);
  EXPECT_EQ(probe.latest_threads.at(8).calls(), 2u);
  EXPECT_EQ(probe.all.calls(), 0u);
  records.take_latest();
  EXPECT_TRUE(records.probes()[0].latest_threads.empty());
  EXPECT_EQ(records.probes()[0].threads.size(), 2u);
}

TEST(LatencyRecords, HaveSlowCallsInOrderOfTheirEnds) {
  std::array<std::byte, 512> bytes{};
  wire::Encoder out(bytes);
  const std::array<std::uint64_t, 2> callers = {0x401234, 0x400000};
  encode(out, wire::SlowCallRecord{.tid = 7, .begin_ns = 100, .duration_ns = 50}, callers);
  encode(out, wire::SlowCallRecord{.tid = 8, .begin_ns = 110, .duration_ns = 20}, {});
  encode(out, wire::SlowCallRecord{.probe = 1}, {});  // not asked for
  encode(out, wire::CallThreadRecord{.tid = 7, .name = "worker"});
  encode(out, wire::ProbeCountsRecord{.threshold_ns = 19, .slow = 3, .slow_ns = 90, .lost = 1});
  encode(out, wire::ProbeCountsRecord{.threshold_ns = 15, .slow = 1, .slow_ns = 20});
  LatencyRecords records(1);
  records.apply(out.bytes());
  EXPECT_EQ(records.damaged(), 1u);
  const auto calls = records.take_slow_calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].record.tid, 8u);
  EXPECT_EQ(calls[1].callers, (std::vector<std::uint64_t>{0x401234, 0x400000}));
  EXPECT_TRUE(records.take_slow_calls().empty());
  EXPECT_EQ(records.thread_name(7), "worker");
  EXPECT_EQ(records.thread_name(8), "");
  const Probe::Counts& counts = records.probes()[0].counts;
  EXPECT_EQ(counts.threshold, 15ns);
  EXPECT_EQ(counts.slow, 4u);
  EXPECT_EQ(counts.slow_time, 110ns);
  EXPECT_EQ(counts.lost, 1u);
}

TEST(LatencyRecords, KnowWhyTheStreamEnded) {
  LatencyRecords records(1);
  records.apply(BlockOf().end(wire::EndReason::kFailed, "no memory").bytes());
  EXPECT_TRUE(records.has_ended());
  EXPECT_EQ(records.failure(), "no memory");
  LatencyRecords stopped(1);
  stopped.apply(BlockOf().end(wire::EndReason::kStopped, "").bytes());
  EXPECT_TRUE(stopped.has_ended());
  EXPECT_EQ(stopped.failure(), "");
}

TEST(LatencyRecords, SurviveHostileOnes) {
  LatencyRecords records(2);
  records.apply(BlockOf()
                    .probe(2, wire::ProbeState::kAttached)
                    .probe(kEveryBit, wire::ProbeState::kAttached)
                    .latency(stretch(7, 0, 1, 1, 1), {{1, 1}})
                    .bytes());
  EXPECT_EQ(records.damaged(), 3u);
  for (int round = 0; round < 3; ++round) {
    records.apply(BlockOf()
                      .latency(stretch(0, 0, kEveryBit, kEveryBit, kEveryBit), {{5, kEveryBit}})
                      .bytes());
  }
  EXPECT_EQ(records.probes()[0].all.calls(), kEveryBit);
  EXPECT_GT(records.probes()[0].traced, 0s);
  std::mt19937 random(8);
  BlockOf good;
  good.latency(stretch(0, 0, 1, 1, 1), {{1, 1}, {9, 3}, {1700, 2}});
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> bytes(good.bytes().begin(), good.bytes().end());
    bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    bytes.resize(random() % (bytes.size() + 1));
    records.apply(bytes);
  }
}

}  // namespace
}  // namespace swipr::tracing
