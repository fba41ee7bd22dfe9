// Frames of language runtimes in a recording that is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/profile/filter.h"
#include "common/wire/runtimes.h"
#include "tests/unit/cli/import/read_back.h"
#include "tests/unit/cli/import/swipr_file.h"

namespace swipr {
namespace {

using profile::kNone;
using profile::Recording;
using test::begin;
using test::read;
using test::SwiprFile;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::Encoder;

constexpr std::uint64_t kPythonTickNs = 1'000'000;

std::uint64_t python_pc(std::uint64_t function, std::uint32_t line) {
  return runtime_frame_pc({.function = function, .line = line});
}

void function(Encoder& out, std::uint64_t number, std::string_view name,
              std::uint64_t start_line = 1, std::uint64_t flags = 0) {
  encode(out, wire::FunctionRecord{.function = number,
                                   .language = Language::kPython,
                                   .name = name,
                                   .file = "/srv/app.py",
                                   .start_line = start_line,
                                   .flags = flags});
}

const profile::Frame& frame_of(const Recording& recording, std::size_t stack, std::size_t index) {
  return recording.frames.at(recording.stacks.at(stack).frames.at(index));
}
// Empty: its function is unknown, or native.
std::string name_of(const Recording& recording, std::size_t stack, std::size_t index) {
  const std::uint32_t found = frame_of(recording, stack, index).function;
  return found == kNone ? "" : recording.functions.at(found).name;
}

TEST(SwiprRuntimes, KeepsFunctionLineAndExecutionBetweenNativeFrames) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    function(out, 7, "Worker.run", 28);
    const std::vector<wire::FrameEntry> frames = {
        {0x10010, wire::FrameSource::kContext, true},
        {python_pc(7, 31), static_cast<wire::FrameSource>(Execution::kInlined), true},
        {0x10020, wire::FrameSource::kCfi, false}};
    encode(out, wire::StackRecord{.stack_id = 1}, frames);
    test::tick(out, kPythonTickNs, {{1, 1}});
    test::end(out, kPythonTickNs);
  });
  const Recording recording = read(file.bytes());
  EXPECT_THAT(recording.warnings, IsEmpty());
  const profile::Frame& frame = frame_of(recording, 0, 1);
  EXPECT_EQ(frame.line, 31u);
  EXPECT_EQ(frame.execution, Execution::kInlined);
  EXPECT_EQ(frame.module, kNone);
  const profile::Function& found = recording.functions.at(frame.function);
  EXPECT_EQ(found.name, "Worker.run");
  EXPECT_EQ(found.file, "/srv/app.py");
  EXPECT_EQ(found.start_line, 28u);
  EXPECT_EQ(found.language, Language::kPython);
  EXPECT_EQ(frame_of(recording, 0, 0).function, kNone);
  EXPECT_EQ(frame_of(recording, 0, 2).function, kNone);
}

TEST(SwiprRuntimes, TellsLinesOfAFunctionApart) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    function(out, 1, "f");
    test::stack(out, 1, {python_pc(1, 3), python_pc(1, 4), python_pc(1, 3)});
    test::tick(out, kPythonTickNs, {{1, 1}});
    test::end(out, kPythonTickNs);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(recording.functions.size(), 1u);
  EXPECT_EQ(frame_of(recording, 0, 0).line, 3u);
  EXPECT_EQ(frame_of(recording, 0, 1).line, 4u);
}

TEST(SwiprRuntimes, TellsExecutionsOfALineApart) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    function(out, 1, "f");
    std::vector<wire::FrameEntry> frames;
    for (const Execution execution : {Execution::kInterpreted, Execution::kCompiled}) {
      frames.push_back({python_pc(1, 3), static_cast<wire::FrameSource>(execution), true});
    }
    encode(out, wire::StackRecord{.stack_id = 1}, frames);
    test::tick(out, kPythonTickNs, {{1, 1}});
    test::end(out, kPythonTickNs);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(frame_of(recording, 0, 0).execution, Execution::kInterpreted);
  EXPECT_EQ(frame_of(recording, 0, 1).execution, Execution::kCompiled);
}

TEST(SwiprRuntimes, HasNoNameOfAFunctionThatWasGone) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    function(out, 1, "left over", 5, wire::kFunctionNameLost);
    test::stack(out, 1, {python_pc(1, 0)});
    test::tick(out, kPythonTickNs, {{1, 1}});
    test::end(out, kPythonTickNs);
  });
  const Recording recording = read(file.bytes());
  EXPECT_NE(frame_of(recording, 0, 0).function, kNone);
  EXPECT_EQ(name_of(recording, 0, 0), "");
}

TEST(SwiprRuntimes, KnowsTheCollectorOfGarbage) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    function(out, 1, "[garbage collection]", 0, wire::kFunctionCollector);
    function(out, 2, "collects");
    const std::vector<wire::FrameEntry> frames = {{0x1000, wire::FrameSource::kCfi, false},
                                                  {python_pc(1, 0), {}, true},
                                                  {python_pc(2, 4), {}, true}};
    encode(out, wire::StackRecord{.stack_id = 1}, frames);
    for (int number = 0; number < 8; ++number) test::tick(out, kPythonTickNs, {{1, 1}});
    test::end(out, 8 * kPythonTickNs);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(name_of(recording, 0, 1), "[garbage collection]");
  EXPECT_TRUE(recording.functions[frame_of(recording, 0, 1).function].is_collector);
  EXPECT_FALSE(recording.functions[frame_of(recording, 0, 2).function].is_collector);
}

TEST(SwiprRuntimes, HasNoFunctionWhoseRecordIsInADamagedBlock) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    function(out, 1, "kept");
  });
  const std::size_t damaged = file.size();
  file.block(0, [](Encoder& out) { function(out, 2, "lost"); });
  file.block(0, [](Encoder& out) {
    test::stack(out, 1, {python_pc(1, 3), python_pc(2, 4)});
    test::tick(out, kPythonTickNs, {{1, 1}});
    test::end(out, kPythonTickNs);
  });
  file.bytes()[damaged + wire::kBlockHeaderBytes + 3] ^= std::byte{0x40};
  const Recording recording = read(file.bytes());
  EXPECT_EQ(name_of(recording, 0, 0), "kept");
  EXPECT_EQ(frame_of(recording, 0, 1).function, kNone);
  EXPECT_EQ(frame_of(recording, 0, 1).line, 4u);
}

TEST(SwiprRuntimes, ForgetsFunctionsWhereANewImageBegins) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    function(out, 1, "before");
    function(out, 2, "only before");
    test::stack(out, 1, {python_pc(1, 3), python_pc(2, 3)});
    test::tick(out, kPythonTickNs, {{1, 1}});
    test::end(out, kPythonTickNs);
    begin(out);
    function(out, 1, "after");
    test::stack(out, 1, {python_pc(1, 3), python_pc(2, 3)});
    test::tick(out, kPythonTickNs, {{1, 1}});
    test::end(out, kPythonTickNs);
  });
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.processes.size(), 2u);
  EXPECT_EQ(name_of(recording, 0, 0), "before");
  EXPECT_EQ(name_of(recording, 0, 1), "only before");
  EXPECT_EQ(name_of(recording, 1, 0), "after");
  EXPECT_EQ(frame_of(recording, 1, 1).function, kNone);
}

TEST(SwiprRuntimes, KeepsFunctionsOfSourcesApart) {
  SwiprFile file;
  for (const std::uint32_t source : {0u, 1u}) {
    file.block(source, [source](Encoder& out) {
      test::source(out, 42 + source);
      test::thread(out, 1, 43 + source, "worker");
      function(out, 1, source == 0 ? "of the parent" : "of the child");
      test::stack(out, 1, {python_pc(1, 3)});
      test::tick(out, kPythonTickNs, {{1, 1}});
      test::end(out, kPythonTickNs);
    });
  }
  const Recording recording = read(file.bytes());
  EXPECT_EQ(name_of(recording, 0, 0), "of the parent");
  EXPECT_EQ(name_of(recording, 1, 0), "of the child");
  EXPECT_EQ(recording.functions.at(1).process, 1u);
}

TEST(SwiprRuntimes, WarnsOfARuntimeWhoseFramesAreNotRead) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    encode(out, wire::RuntimeRecord{.language = Language::kPython, .version = "3.12.3"});
    encode(out, wire::RuntimeRecord{.language = Language::kPython,
                                    .version = "3.13.1",
                                    .state = wire::RuntimeState::kRefused,
                                    .reason = "free-threaded build"});
    encode(out, wire::RuntimeRecord{.language = static_cast<Language>(99),
                                    .state = wire::RuntimeState::kRefused});
    test::end(out, 1);
  });
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.runtimes.size(), 3u);
  EXPECT_EQ(recording.runtimes[0].version, "3.12.3");
  EXPECT_EQ(recording.runtimes[0].refusal, "");
  EXPECT_EQ(recording.runtimes[1].refusal,
            "python 3.13.1: frames are not read (free-threaded build)");
  EXPECT_EQ(recording.warnings.size(), 2u);
  EXPECT_THAT(recording.warnings,
              Contains("app (42): python 3.13.1: frames are not read (free-threaded build)"));
  EXPECT_THAT(recording.warnings,
              Contains("app (42): unknown language: frames are not read (no reason given)"));
}

TEST(SwiprRuntimes, BoundsTheRuntimesOfAHostileFile) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    for (int number = 0; number < 5000; ++number) {
      encode(out, wire::RuntimeRecord{.language = Language::kPython,
                                      .state = wire::RuntimeState::kRefused});
    }
    test::end(out, 1);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(recording.runtimes.size(), 1024u);
  EXPECT_LE(recording.warnings.size(), 1024u);
}

TEST(SwiprRuntimes, TakesHostileNumbersForUnknownOrDamaged) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    begin(out);
    function(out, kMaxRuntimeFunction, "last", ~std::uint64_t{0});
    function(out, 0, "none");
    function(out, kMaxRuntimeFunction + 1, "beyond");
    test::stack(out, 1,
                {python_pc(kMaxRuntimeFunction, kMaxRuntimeLine), python_pc(0, 1),
                 2 * kRuntimeFrameBase - 1});
    test::tick(out, kPythonTickNs, {{1, 1}});
    test::end(out, kPythonTickNs);
  });
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.functions.size(), 1u);
  EXPECT_EQ(recording.functions[0].start_line, ~std::uint32_t{0});
  EXPECT_EQ(name_of(recording, 0, 0), "last");
  EXPECT_EQ(frame_of(recording, 0, 1).function, kNone);
  EXPECT_EQ(frame_of(recording, 0, 2).function, kNone);
  EXPECT_THAT(recording.warnings, Contains(HasSubstr("2 ")));
}

TEST(SwiprRuntimes, KeepTheirFunctionsBehindAnotherRecording) {
  const auto with_function = [](std::string_view name) {
    SwiprFile file;
    file.block(0, [name](Encoder& out) {
      begin(out);
      function(out, 1, name);
      encode(out, wire::RuntimeRecord{.language = Language::kPython});
      test::stack(out, 1, {python_pc(1, 3), 0x10010});
      test::tick(out, kPythonTickNs, {{1, 1}});
      test::end(out, kPythonTickNs);
    });
    return read(file.bytes());
  };
  Recording both = with_function("first");
  profile::append(both, with_function("second"), profile::Align::kRealTime);
  ASSERT_EQ(both.functions.size(), 2u);
  EXPECT_EQ(name_of(both, 0, 0), "first");
  const profile::Stack& second = both.stacks.at(1);
  const profile::Frame& frame = both.frames.at(second.frames.at(0));
  EXPECT_EQ(both.functions.at(frame.function).name, "second");
  EXPECT_EQ(both.functions.at(frame.function).process, 1u);
  EXPECT_EQ(both.frames.at(second.frames.at(1)).function, kNone);
  EXPECT_EQ(both.runtimes.at(1).process, 1u);
}

}  // namespace
}  // namespace swipr
