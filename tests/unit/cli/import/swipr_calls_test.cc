// Traced functions, and samples within their calls, in a recording that is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "cli/profile/call_split.h"
#include "cli/profile/filter.h"
#include "common/wire/sampled_calls.h"
#include "tests/unit/cli/import/read_back.h"
#include "tests/unit/cli/import/swipr_file.h"

namespace swipr::importers {
namespace {

using namespace std::chrono_literals;
using test::SwiprFile;
using testing::ElementsAre;

constexpr std::uint64_t kMs = 1'000'000;

void probe(wire::Encoder& out, std::uint64_t line, wire::ProbeState state,
           std::string_view text = {}) {
  encode(out,
         wire::ProbeRecord{.probe = line, .state = state, .address = 0x5010 + line, .text = text});
}

void latency(wire::Encoder& out, std::uint64_t line, std::uint64_t ns, std::uint64_t calls,
             std::uint64_t tid = 0) {
  wire::LatencyEncoder latency(
      out, {.probe = line, .tid = tid, .sum_ns = ns * calls, .max_ns = ns, .open = 1});
  latency.put({.bucket = bucket_of(ns), .count = calls});
  latency.end();
}

void within(wire::Encoder& out, std::uint64_t id, std::uint64_t base,
            const std::vector<wire::OpenCall>& calls) {
  wire::StackCallsRecord record{.stack_id = id, .base_id = base, .call_count = calls.size()};
  std::copy(calls.begin(), calls.end(), record.calls.begin());
  encode(out, record);
}

constexpr wire::OpenCall kOuter{.probe = 0, .place = 7, .start_ns = 5 * kMs};
constexpr wire::OpenCall kInner{.probe = 1, .place = 9, .start_ns = 6 * kMs};

// One thread: a sample outside, two in the outer call, one of them in the inner one as well.
SwiprFile make_file() {
  SwiprFile file;
  file.block(0, [](wire::Encoder& out) {
    test::source(out, 42);
    test::module(out, 1, 0x5000, 0x1000, "/bin/app");
    test::thread(out, 0, 42, "app");
    probe(out, 0, wire::ProbeState::kAttached);
    probe(out, 1, wire::ProbeState::kAttached);
    probe(out, 2, wire::ProbeState::kRefused, "it is too short");
    test::stack(out, 1, {0x5100, 0x5200});
    within(out, 2, 1, {kOuter});
    within(out, 3, 1, {kInner, kOuter});
    test::tick(out, 10 * kMs, {{.thread_index = 0, .stack_id = 1}});
    test::tick(out, 10 * kMs, {{.thread_index = 0, .stack_id = 3}});
    encode(out, wire::CallEndRecord{.call = kInner, .duration_ns = 15 * kMs, .flags = 1});
    test::tick(out, 10 * kMs, {{.thread_index = 0, .stack_id = 2}});
    test::tick(out, 10 * kMs, {{.thread_index = 0, .same_stack = true}});
    latency(out, 0, 2 * kMs, 100);
    latency(out, 0, 30 * kMs, 4);
    latency(out, 0, 30 * kMs, 4, 42);  // the same calls, of one thread
    test::end(out, 40 * kMs);
  });
  return file;
}

std::vector<std::size_t> call_counts(const profile::Recording& recording) {
  std::vector<std::size_t> counts;
  for (const auto& sample : recording.samples) counts.push_back(calls_of(recording, sample).size());
  return counts;
}

TEST(SwiprCalls, SamplesKnowTheirCallsAndShareTheStack) {
  const profile::Recording recording = test::read(make_file().bytes());
  EXPECT_THAT(call_counts(recording), ElementsAre(0, 2, 1, 1));
  EXPECT_EQ(recording.stacks.size(), 1u);
  for (const auto& sample : recording.samples) EXPECT_EQ(sample.stack, 0u);
  ASSERT_EQ(recording.calls.size(), 2u);
  const auto calls = calls_of(recording, recording.samples[1]);
  const profile::Call& inner = recording.calls[calls[0]];
  EXPECT_EQ(inner.function, 1u);
  EXPECT_EQ(inner.duration, 15ms);
  EXPECT_TRUE(inner.unwound);
  EXPECT_EQ(inner.begin, 1006ms);
  const profile::Call& outer = recording.calls[calls[1]];
  EXPECT_EQ(outer.function, 0u);
  EXPECT_FALSE(outer.duration.has_value());
}

TEST(SwiprCalls, FunctionsHaveTheirCallsOfAllThreads) {
  const profile::Recording recording = test::read(make_file().bytes());
  ASSERT_EQ(recording.traced.size(), 3u);
  const profile::TracedFunction& function = recording.traced[0];
  EXPECT_TRUE(function.was_traced);
  EXPECT_EQ(function.buckets.at(bucket_of(2 * kMs)), 100u);
  EXPECT_EQ(function.buckets.at(bucket_of(30 * kMs)), 4u);
  EXPECT_EQ(function.longest, 30ms);
  EXPECT_EQ(function.open, 1u);
  EXPECT_EQ(recording.frames[function.frame].pc.value, 0x5010u);
  EXPECT_EQ(recording.frames[function.frame].module, 0u);
  EXPECT_FALSE(recording.traced[2].was_traced);
  EXPECT_EQ(recording.traced[2].problem, "it is too short");
}

// A call without an end is slow from the moment on at which it was seen to last longer.
TEST(SwiprCalls, AreSplitByTheDurationOfTheCall) {
  const profile::Recording recording = test::read(make_file().bytes());
  const auto parts = [&](std::uint32_t function, std::chrono::nanoseconds threshold) {
    const profile::CallSplit split(recording, {function}, threshold);
    std::vector<profile::CallPart> found;
    for (const auto& sample : recording.samples) found.push_back(split.part_of(sample));
    return found;
  };
  using enum profile::CallPart;
  EXPECT_THAT(parts(0, 34ms), ElementsAre(kOutside, kSlow, kSlow, kSlow));
  EXPECT_THAT(parts(0, 35ms), ElementsAre(kOutside, kUnfinished, kUnfinished, kUnfinished));
  EXPECT_THAT(parts(1, 14ms), ElementsAre(kOutside, kSlow, kOutside, kOutside));
  EXPECT_THAT(parts(1, 15ms), ElementsAre(kOutside, kNormal, kOutside, kOutside));
}

TEST(SwiprCalls, QuantilesAreThoseOfAllCalls) {
  const profile::Recording recording = test::read(make_file().bytes());
  const std::uint32_t functions[] = {0};
  const auto p95 = profile::quantile_of_calls(recording, functions, 95'000);
  ASSERT_TRUE(p95.has_value());
  EXPECT_NEAR(static_cast<double>(p95->count()), 2e6, 0.016 * 2e6);
  const auto p99 = profile::quantile_of_calls(recording, functions, 99'000);
  ASSERT_TRUE(p99.has_value());
  EXPECT_NEAR(static_cast<double>(p99->count()), 30e6, 0.016 * 30e6);
  EXPECT_FALSE(profile::quantile_of_calls(recording, functions, 99'900).has_value());
  const std::uint32_t never_called[] = {1};
  EXPECT_FALSE(profile::quantile_of_calls(recording, never_called, 50'000).has_value());
}

TEST(SwiprCalls, StayWithTheirSamplesWhenRecordingsAreMerged) {
  profile::Recording recording = test::read(make_file().bytes());
  profile::append(recording, test::read(make_file().bytes()), profile::Align::kRealTime);
  ASSERT_EQ(recording.samples.size(), 8u);
  for (const auto& sample : recording.samples) {
    for (const std::uint32_t call : calls_of(recording, sample)) {
      const auto process = recording.threads[sample.thread].process;
      EXPECT_EQ(recording.traced[recording.calls[call].function].process, process);
    }
  }
}

TEST(SwiprCalls, GetStacksOfTheirOwn) {
  profile::Recording recording = test::read(make_file().bytes());
  const auto call_of_stack = profile::separate_calls(recording);
  ASSERT_EQ(call_of_stack.size(), recording.stacks.size());
  EXPECT_EQ(recording.stacks.size(), 3u);
  EXPECT_EQ(call_of_stack[recording.samples[0].stack], profile::kNone);
  EXPECT_EQ(recording.calls[call_of_stack[recording.samples[1].stack]].function, 1u);
  EXPECT_EQ(recording.calls[call_of_stack[recording.samples[2].stack]].function, 0u);
  EXPECT_EQ(recording.samples[2].stack, recording.samples[3].stack);
}

// As for other ids: an id that is defined again means something else from then on.
TEST(SwiprCalls, IdsAreRedefined) {
  SwiprFile file = make_file();
  file.block(0, [](wire::Encoder& out) {
    test::stack(out, 3, {0x5300});
    test::tick(out, 10 * kMs, {{.thread_index = 0, .stack_id = 3}});
    within(out, 1, 77, {kOuter});  // of a stack that is not known
    test::tick(out, 10 * kMs, {{.thread_index = 0, .stack_id = 1}});
  });
  const profile::Recording recording = test::read(file.bytes());
  ASSERT_EQ(recording.samples.size(), 6u);
  EXPECT_EQ(recording.samples[4].calls, profile::kNone);
  EXPECT_EQ(recording.samples[4].stack, 1u);
  EXPECT_EQ(recording.samples[5].stack, profile::kNone);
}

}  // namespace
}  // namespace swipr::importers
