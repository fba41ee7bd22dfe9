// Frames, stacks, modules and names of a recording that is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "cli/profile/filter.h"
#include "common/wire/names.h"
#include "tests/unit/cli/import/read_back.h"
#include "tests/unit/cli/import/swipr_file.h"

namespace swipr {
namespace {

using namespace std::chrono_literals;
using profile::Recording;
using test::begin;
using test::kTickNs;
using test::module_of;
using test::ordinary_file;
using test::pcs_of;
using test::read;
using test::SwiprFile;
using testing::ElementsAre;
using testing::IsEmpty;
using wire::Encoder;

TEST(SwiprFrames, KnowsExactFramesFromReturnAddresses) {
  const Recording recording = read(ordinary_file().bytes());
  const auto& frames = recording.stacks.at(0).frames;
  EXPECT_EQ(recording.frames.at(frames.at(0)).kind, PcKind::kExact);
  EXPECT_EQ(recording.frames.at(frames.at(1)).kind, PcKind::kReturnAddress);
}

TEST(SwiprFrames, ResolvesFramesAgainstTheModulesOfTheirTime) {
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

TEST(SwiprFrames, TakesAModuleForTheReplacementOfThoseItOverlaps) {
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

TEST(SwiprFrames, FindsTheModuleOfACallThatEndsIt) {
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

TEST(SwiprFrames, InternsEqualStacksOfDifferentIds) {
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
  EXPECT_EQ(recording.stacks.at(recording.samples[2].stack).wait_syscall, "poll");
  EXPECT_EQ(recording.stacks.at(recording.samples[2].stack).wait_channel, "");
  EXPECT_EQ(recording.stacks.at(recording.samples[3].stack).wait_syscall, "poll");
  EXPECT_EQ(recording.stacks.at(recording.samples[3].stack).wait_channel, "ep_poll");
}

TEST(SwiprFrames, NamesSystemCallsOfTheRecordedMachine) {
  constexpr std::uint64_t kAarch64 = 183;
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    test::source(out, 42, "app", kAarch64);
    test::thread(out, 1, 43, "worker");
    test::stack(out, 1, {0x10010}, {.wait_syscall = 1 + 98});
    test::tick(out, 1, {{1, 1}});
    test::end(out, 1);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(recording.processes.at(0).machine, kAarch64);
  EXPECT_EQ(recording.stacks.at(0).wait_syscall, "futex");
}

TEST(SwiprFrames, KeepsWhereFramesWereLeftOut) {
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

TEST(SwiprFrames, TakesSameStackAsTheEntryBeforeThoughTheIdWasRedefined) {
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

TEST(SwiprFrames, ReadsNamesThatTheRecordingCarries) {
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

}  // namespace
}  // namespace swipr
