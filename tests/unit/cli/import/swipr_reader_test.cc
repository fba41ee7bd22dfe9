#include "cli/import/swipr_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/names.h"
#include "tests/unit/cli/import/read_back.h"
#include "tests/unit/cli/import/swipr_file.h"
#include "tests/unit/common/wire/worked_example.h"

namespace swipr {
namespace {

using namespace std::chrono_literals;
using importers::SwiprReader;
using profile::kNone;
using profile::Recording;
using test::begin;
using test::kTickNs;
using test::module_of;
using test::ordinary_file;
using test::pcs_of;
using test::read;
using test::SwiprFile;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::Encoder;

std::string error_of(std::string_view bytes) {
  SwiprReader reader;
  reader.feed(std::as_bytes(std::span(bytes)));
  const auto result = reader.finish();
  return result ? "no error" : result.error().message();
}

TEST(SwiprReader, ReadsProcessModulesThreadsAndSamples) {
  const Recording recording = read(ordinary_file().bytes());
  ASSERT_EQ(recording.processes.size(), 1u);
  const profile::Process& process = recording.processes[0];
  EXPECT_EQ(process.pid, Pid{42});
  EXPECT_EQ(process.command_name, "app");
  EXPECT_THAT(process.command_line, ElementsAre("app", "-v"));
  EXPECT_EQ(process.interval, 10ms);
  EXPECT_EQ(process.start_realtime, 1'700'000'000s);  // November 2023
  EXPECT_EQ(process.duration, 20ms);
  EXPECT_TRUE(process.complete);
  EXPECT_EQ(process.totals.at("samples"), 2u);
  ASSERT_EQ(recording.modules.size(), 1u);
  EXPECT_EQ(recording.modules[0].build_id, "ab01");
  EXPECT_EQ(recording.modules[0].load_bias, 0xF000u);
  ASSERT_EQ(recording.threads.size(), 1u);
  EXPECT_EQ(recording.threads[0].tid, Tid{43});
  ASSERT_EQ(recording.samples.size(), 2u);
  EXPECT_EQ(recording.samples[0].time, 1s + 10ms);
  EXPECT_EQ(recording.samples[0].cpu, 7ns);
  EXPECT_EQ(recording.samples[1].stack, recording.samples[0].stack);
  EXPECT_EQ(recording.samples[1].wall, 10ms);
  EXPECT_THAT(recording.warnings, IsEmpty());
}

TEST(SwiprReader, ReadsTheExampleOfTheFormatsPage) {
  const Recording recording = read(test::make_worked_example());
  ASSERT_EQ(recording.samples.size(), 2u);
  const profile::Sample& first = recording.samples[0];
  EXPECT_EQ(first.time, 5s + 10ms);
  EXPECT_EQ(first.cpu, 9ms);
  EXPECT_EQ(first.wall, 10ms);
  EXPECT_EQ(recording.samples[1].state, profile::State::kBlocked);
  EXPECT_EQ(recording.samples[1].stack, first.stack);
  const std::uint64_t python = runtime_frame_pc({.function = 1, .line = 31});
  EXPECT_THAT(pcs_of(recording, first.stack), ElementsAre(0x401234u, python, 0x401100u));
  EXPECT_EQ(module_of(recording, first.stack, 2), "/app");
  EXPECT_EQ(recording.functions.at(0).name, "run");
  EXPECT_THAT(recording.warnings, IsEmpty());
}

TEST(SwiprReader, ReadsTheSameFromSingleBytes) {
  const Recording recording = read(ordinary_file().bytes(), 1);
  EXPECT_EQ(recording.samples.size(), 2u);
  EXPECT_TRUE(recording.processes.at(0).complete);
  EXPECT_THAT(recording.warnings, IsEmpty());
}

TEST(SwiprReader, CountsImpliedWallTimeFromTheEntryBeforeOrTheThreadsStart) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::stack(out, 1, {0x10010});
    test::tick(out, kTickNs, {});
    test::thread(out, 2, 44, "late", kTickNs + 4'000'000);
    test::tick(out, kTickNs, {{1, 1}, {2, 1}});
    test::tick(out, kTickNs, {{1, 1, false, 9'000'000}});
    test::tick(out, kTickNs, {{1, 1}, {2, 1}});
    test::end(out, 4 * kTickNs);
  });
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.samples.size(), 5u);
  EXPECT_EQ(recording.samples[0].wall, 20ms);
  EXPECT_EQ(recording.samples[1].wall, 6ms);
  EXPECT_EQ(recording.samples[2].wall, 9ms);
  EXPECT_EQ(recording.samples[3].wall, 10ms);  // independent of the previous entry
  EXPECT_EQ(recording.samples[4].wall, 20ms);
}

TEST(SwiprReader, PutsSeveralEntriesOfATickBehindEachOther) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::stack(out, 1, {0x10010});
    test::stack(out, 2, {0x10020});
    test::tick(out, 10 * kTickNs, {{1, 1, false, 9 * kTickNs, 0, 9}, {1, 2, false, kTickNs}});
    test::end(out, 10 * kTickNs);
  });
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.samples.size(), 2u);
  EXPECT_EQ(recording.samples[0].ticks, 9u);
  EXPECT_EQ(recording.samples[0].time, 1s + 90ms);
  EXPECT_EQ(recording.samples[1].time, 1s + 100ms);
  EXPECT_EQ(recording.samples[1].wall, 10ms);
}

TEST(SwiprReader, KeepsSourcesApartAndSortsByTime) {
  SwiprFile file;
  file.block(7, [](Encoder& out) {
    begin(out);
    test::stack(out, 1, {0x10010});
    test::tick(out, 3 * kTickNs, {{1, 1}});
    test::end(out, 3 * kTickNs);
  });
  file.block(9, [](Encoder& out) {
    test::source(out, 50, "child");
    test::thread(out, 1, 50, "child");
    test::stack(out, 1, {0x10010});
    test::tick(out, kTickNs, {{1, 1}});
    test::end(out, kTickNs);
  });
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.processes.size(), 2u);
  ASSERT_EQ(recording.samples.size(), 2u);
  EXPECT_EQ(recording.threads.at(recording.samples[0].thread).name, "child");
  EXPECT_EQ(recording.threads.at(recording.samples[1].thread).process, 0u);
  EXPECT_EQ(module_of(recording, recording.samples[0].stack, 0), "none");
  EXPECT_EQ(module_of(recording, recording.samples[1].stack, 0), "/bin/app");
}

TEST(SwiprReader, RenamesThreadsAndTellsReusedIndexesApart) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::tick(out, kTickNs, {{1, 0}});
    test::thread(out, 1, 43, "renamed");
    test::thread(out, 1, 99, "another");
    test::tick(out, kTickNs, {{1, 0}});
    test::end(out, 2 * kTickNs);
  });
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.threads.size(), 2u);
  EXPECT_EQ(recording.threads[0].name, "renamed");
  EXPECT_EQ(recording.threads.at(recording.samples.at(1).thread).name, "another");
  EXPECT_EQ(recording.samples[0].stack, kNone);
}

TEST(SwiprReader, SkipsRecordsItDoesNotKnow) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    const std::size_t mark = out.begin_record(static_cast<wire::RecordType>(200));
    out.put_string("from the future");
    out.end_record(mark);
    begin(out);
    test::end(out, 0);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(recording.threads.size(), 1u);
  EXPECT_THAT(recording.warnings, IsEmpty());
}

TEST(SwiprReader, ReadsRecordingsThatWereWrittenBehindEachOther) {
  const Recording recording = read(ordinary_file().append(ordinary_file()).bytes());
  EXPECT_EQ(recording.processes.size(), 2u);
  EXPECT_EQ(recording.samples.size(), 4u);
  EXPECT_THAT(recording.warnings, IsEmpty());
}

TEST(SwiprReader, KeepsTheLastCountOfADifference) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    const auto stack = [&out](std::uint64_t id, std::uint64_t outer) {
      const wire::FrameEntry frames[] = {{0x1000, wire::FrameSource::kContext, true},
                                         {outer, wire::FrameSource::kCfi, false}};
      encode(out, wire::StackRecord{.stack_id = id, .flags = 1}, frames);
    };
    constexpr std::uint64_t kFirst = wire::kFirstDifferenceId;
    stack(kFirst, 0x2000);
    stack(kFirst + 1, 0x3000);
    encode(out, wire::DifferenceRecord{kFirst, kFirst + 1, 2});
    encode(out, wire::DifferenceRecord{kFirst, kFirst + 7, 1});  // of a stack that is lost
    encode(out, wire::DifferenceRecord{kFirst, kFirst + 1, 9});
    test::end(out, kTickNs);
  });
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.differences.size(), 1u);
  EXPECT_EQ(recording.differences[0].count, 9u);
  EXPECT_THAT(pcs_of(recording, recording.differences[0].stack), ElementsAre(0x1000, 0x2000));
  EXPECT_THAT(pcs_of(recording, recording.differences[0].other), ElementsAre(0x1000, 0x3000));
}

TEST(SwiprReader, KeepsHostileNumbersWithinTheirTypes) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    test::source(out, ~std::uint64_t{0});
    test::thread(out, ~std::uint64_t{0} >> 8, ~std::uint64_t{0}, "x", ~std::uint64_t{0});
    test::tick(out, ~std::uint64_t{0},
               {{~std::uint64_t{0} >> 8, 5, false, ~std::uint64_t{0}, ~std::uint64_t{0},
                 ~std::uint64_t{0}}});
    test::tick(out, ~std::uint64_t{0}, {{~std::uint64_t{0} >> 8, 5}});
    test::end(out, ~std::uint64_t{0});
  });
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.samples.size(), 2u);
  for (const profile::Sample& sample : recording.samples) {
    EXPECT_GE(sample.time, 0ns);
    EXPECT_GE(sample.wall, 0ns);
  }
  EXPECT_EQ(recording.processes.at(0).pid, Pid{0});
}

TEST(SwiprReader, SaysWhyInputIsNoRecording) {
  EXPECT_EQ(error_of(""), "the input is empty, not a recording");
  EXPECT_THAT(error_of("#!/bin/sh\necho not a recording\n"), HasSubstr("not a recording"));
  EXPECT_THAT(error_of("\x89SWI"), HasSubstr("only 4 bytes"));
}

TEST(SwiprReader, RefusesNewerVersions) {
  std::vector<std::byte> bytes = ordinary_file().bytes();
  bytes[8] = std::byte{2};
  SwiprReader reader;
  reader.feed(bytes);
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.finish().error().message(),
            "made by a newer version of swipr (format 2; this swipr reads 1): update swipr");
}

TEST(SwiprReader, KnowsWhoseProcessItWas) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    test::source(out, 42);
    wire::encode(out, wire::UserRecord{0});
    wire::encode(out, wire::UserRecord{1000});
  });
  file.block(1, [](Encoder& out) { test::source(out, 43); });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(recording.processes.at(0).user, 1000u) << "which it became";
  EXPECT_FALSE(recording.processes.at(1).user.has_value());
}

}  // namespace
}  // namespace swipr
