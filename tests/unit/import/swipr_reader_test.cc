// Longer than most: every test writes some records and reads them back with the helpers below.
#include "cli/import/swipr_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

#include "cli/profile/filter.h"
#include "common/wire/names.h"
#include "tests/unit/import/swipr_file.h"
#include "tests/unit/wire/worked_example.h"

namespace swipr {
namespace {

using namespace std::chrono_literals;
using importers::SwiprReader;
using profile::kNone;
using profile::Recording;
using test::Entry;
using test::SwiprFile;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::Encoder;

constexpr std::uint64_t kTickNs = 10'000'000;

Recording read(std::vector<std::byte> bytes, std::size_t chunk = std::size_t{1} << 20) {
  SwiprReader reader;
  std::span<const std::byte> rest(bytes);
  while (!rest.empty()) {
    const auto part = rest.first(std::min(chunk, rest.size()));
    reader.feed(part);
    rest = rest.subspan(part.size());
  }
  auto result = reader.finish();
  if (!result) {
    ADD_FAILURE() << result.error().message();
    return {};
  }
  return std::move(*result);
}

std::string error_of(std::string_view bytes) {
  SwiprReader reader;
  reader.feed(std::as_bytes(std::span(bytes)));
  const auto result = reader.finish();
  return result ? "no error" : result.error().message();
}

std::vector<std::uint64_t> pcs_of(const Recording& recording, std::uint32_t stack) {
  std::vector<std::uint64_t> pcs;
  for (std::uint32_t frame : recording.stacks.at(stack).frames) {
    pcs.push_back(recording.frames.at(frame).pc.value);
  }
  return pcs;
}

std::string module_of(const Recording& recording, std::uint32_t stack, std::size_t frame) {
  const std::uint32_t module =
      recording.frames.at(recording.stacks.at(stack).frames.at(frame)).module;
  return module == kNone ? "none" : recording.modules.at(module).path;
}

// Source 0 with one thread and one module, ready for stacks and ticks.
void begin(Encoder& out) {
  test::source(out, 42);
  test::module(out, 1, 0x10000, 0x1000, "/bin/app");
  test::thread(out, 1, 43, "worker");
}

SwiprFile ordinary_file() {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::stack(out, 1, {0x10010, 0x10020});
    test::tick(out, kTickNs, {{.thread_index = 1, .stack_id = 1, .cpu_ns = 7}});
  });
  file.block(0, [](Encoder& out) {
    test::tick(out, kTickNs, {{.thread_index = 1, .same_stack = true}});
    test::totals(out, 2 * kTickNs, wire::counter::kSamples, 2);
    test::end(out, 2 * kTickNs);
  });
  return file;
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
  EXPECT_THAT(pcs_of(recording, first.stack), ElementsAre(0x401234u, 0x401100u));
  EXPECT_EQ(module_of(recording, first.stack, 1), "/app");
  EXPECT_THAT(recording.warnings, IsEmpty());
}

TEST(SwiprReader, ReadsTheSameFromSingleBytes) {
  const Recording recording = read(ordinary_file().bytes(), 1);
  EXPECT_EQ(recording.samples.size(), 2u);
  EXPECT_TRUE(recording.processes.at(0).complete);
  EXPECT_THAT(recording.warnings, IsEmpty());
}

TEST(SwiprReader, KnowsExactFramesFromReturnAddresses) {
  const Recording recording = read(ordinary_file().bytes());
  const auto& frames = recording.stacks.at(0).frames;
  EXPECT_EQ(recording.frames.at(frames.at(0)).kind, PcKind::kExact);
  EXPECT_EQ(recording.frames.at(frames.at(1)).kind, PcKind::kReturnAddress);
}

TEST(SwiprReader, ResolvesFramesAgainstTheModulesOfTheirTime) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::module(out, 2, 0x20000, 0x1000, "/lib/old.so");
    test::stack(out, 1, {0x20010});
    encode(out, wire::ModuleGoneRecord{2});
    test::stack(out, 2, {0x20010});
    test::module(out, 3, 0x20000, 0x1000, "/lib/new.so");
    test::stack(out, 3, {0x20010});
    test::tick(out, 1, {{1, 1}, {1, 2}, {1, 3}});
    test::end(out, 1);
  });
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.samples.size(), 3u);
  EXPECT_EQ(module_of(recording, recording.samples[0].stack, 0), "/lib/old.so");
  EXPECT_EQ(module_of(recording, recording.samples[1].stack, 0), "none");
  EXPECT_EQ(module_of(recording, recording.samples[2].stack, 0), "/lib/new.so");
}

TEST(SwiprReader, TakesAModuleForTheReplacementOfThoseItOverlaps) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::module(out, 2, 0x10800, 0x1000, "/lib/over.so");
    test::stack(out, 1, {0x10810, 0x10010});
    test::tick(out, 1, {{1, 1}});
    test::end(out, 1);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(module_of(recording, 0, 0), "/lib/over.so");
  EXPECT_EQ(module_of(recording, 0, 1), "none");
}

TEST(SwiprReader, FindsTheModuleOfACallThatEndsIt) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::stack(out, 1, {0x11000, 0x11000});
    test::tick(out, 1, {{1, 1}});
    test::end(out, 1);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(module_of(recording, 0, 0), "none");      // exact: one byte past the end
  EXPECT_EQ(module_of(recording, 0, 1), "/bin/app");  // returns from the last instruction
}

TEST(SwiprReader, InternsEqualStacksOfDifferentIds) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::stack(out, 1, {0x10010, 0x10020});
    test::stack(out, 2, {0x10010, 0x10020});
    test::stack(out, 3, {0x10010, 0x10020}, {.wait_syscall = 8});
    test::stack(out, 4, {0x10010, 0x10020}, {.wait_syscall = 8, .wait_channel = "ep_poll"});
    test::tick(out, 1, {{1, 1}, {1, 2}, {1, 3}, {1, 4}});
    test::end(out, 1);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(recording.frames.size(), 2u);
  EXPECT_EQ(recording.stacks.size(), 3u);
  EXPECT_EQ(recording.samples[0].stack, recording.samples[1].stack);
  EXPECT_EQ(recording.stacks.at(recording.samples[2].stack).wait_syscall, 7u);
  EXPECT_EQ(recording.stacks.at(recording.samples[2].stack).wait_channel, "");
  EXPECT_EQ(recording.stacks.at(recording.samples[3].stack).wait_syscall, 7u);
  EXPECT_EQ(recording.stacks.at(recording.samples[3].stack).wait_channel, "ep_poll");
}

TEST(SwiprReader, KeepsWhereFramesWereLeftOut) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::stack(out, 1, {0x10010, 0x10020, 0x10030},
                {.flags = wire::kStackCut | wire::kStackRootReached, .omitted_at = 2});
    test::tick(out, 1, {{1, 1}});
    test::end(out, 1);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(recording.stacks.at(0).omitted_at, 2u);
  EXPECT_TRUE(recording.stacks.at(0).root_reached);
}

TEST(SwiprReader, TakesSameStackAsTheEntryBeforeThoughTheIdWasRedefined) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    test::thread(out, 2, 44, "other");
    test::stack(out, 1, {0x10010});
    test::tick(out, kTickNs, {{1, 1}});
    test::stack(out, 1, {0x10099});
    test::tick(out, kTickNs, {{.thread_index = 1, .same_stack = true}, {2, 1}});
    test::end(out, 2 * kTickNs);
  });
  const Recording recording = read(file.bytes());
  EXPECT_THAT(pcs_of(recording, recording.samples.at(1).stack), ElementsAre(0x10010u));
  EXPECT_THAT(pcs_of(recording, recording.samples.at(2).stack), ElementsAre(0x10099u));
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

TEST(SwiprReader, WarnsAboutWhatTheAgentCounted) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    wire::TotalsEncoder totals(out, kTickNs);
    totals.put(wire::counter::kSamples, 90);
    totals.put(wire::counter::kSamplesDropped, 10);
    totals.put(wire::counter::kTicks, 3);
    totals.put(wire::counter::kTicksMissed, 2);
    totals.end();
    encode(out, wire::MessageRecord{wire::MessageLevel::kWarning, "two\nlines"});
    test::end(out, kTickNs, wire::EndReason::kFailed, "no memory");
  });
  EXPECT_THAT(
      read(file.bytes()).warnings,
      ElementsAre("app (42): two lines", "app (42): the recording failed: no memory",
                  "app (42): 10 of 100 samples were dropped because the reader was too slow",
                  "app (42): 2 of 5 ticks came too late and were skipped"));
}

TEST(SwiprReader, TellsAnExecedImageFromAProcessThatVanished) {
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
TEST(SwiprReader, CountsWhatAKilledProcessHasSent) {
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

TEST(SwiprReader, AnImageThatExecReplacedIsComplete) {
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

TEST(SwiprReader, ReadsNamesThatTheRecordingCarries) {
  SwiprFile file = ordinary_file();
  const std::array<std::string_view, 1> texts = {"f()"};
  for (const std::uint64_t offset : {0x1010u, 0x1020u}) {
    file.block(0, [&](Encoder& out) {
      wire::NamesEncoder names(out, "/bin/app", {}, texts);
      names.begin_address(offset, 1);
      names.put({.name = 1, .line = 7});
      names.end();
    });
  }
  file.block(0, [](Encoder& out) { encode(out, wire::CodeRecord{0x5000, 16, 3, "JS:f"}, {}); });
  const Recording recording = read(file.bytes());
  EXPECT_THAT(recording.warnings, IsEmpty());
  const profile::EmbeddedNames& names = recording.embedded;
  ASSERT_EQ(names.addresses.size(), 2u);
  const profile::EmbeddedAddress& second = names.addresses[1];
  EXPECT_EQ(second.file_offset, 0x1020u);
  EXPECT_EQ(names.files.at(second.file).path, "/bin/app");
  ASSERT_EQ(second.function_count, 1u);
  EXPECT_EQ(names.texts.at(names.functions.at(second.first_function).name), "f()");
  ASSERT_EQ(names.code.size(), 1u);
  EXPECT_EQ(names.code[0].valid_from, 3ns);
  // After another recording: the meaning does not change.
  Recording both = read(ordinary_file().bytes());
  profile::append(both, recording, profile::Align::kRealTime);
  profile::append(both, recording, profile::Align::kRealTime);
  const profile::EmbeddedAddress& last = both.embedded.addresses.at(3);
  EXPECT_EQ(both.embedded.files.at(last.file).path, "/bin/app");
  const auto& function = both.embedded.functions.at(last.first_function);
  EXPECT_EQ(both.embedded.texts.at(function.name), "f()");
  EXPECT_EQ(both.embedded.code.at(1).process, 2u);
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
