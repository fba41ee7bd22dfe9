#include "cli/commands/names/symbolize_recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace swipr::commands {
namespace {

profile::Recording recording_with(const std::string& path) {
  profile::Recording recording;
  recording.processes.emplace_back();
  profile::Module module;
  module.start = RuntimeAddr{0x10000};
  module.size_bytes = 0x1000;
  module.file_offset = FileOffset{0x2000};
  module.load_bias = 0xd000;
  module.path = path;
  recording.modules.push_back(module);
  return recording;
}

TEST(SymbolizeRecording, NamesModuleAndImageAddressWithoutASymbol) {
  profile::Recording recording = recording_with("/no/such/libx.so (deleted)");
  recording.frames.push_back({0, 0, RuntimeAddr{0x10010}, PcKind::kExact});
  recording.frames.push_back({0, 0, RuntimeAddr{0x10010}, PcKind::kReturnAddress});
  const NamedRecording named = symbolize_recording(recording, {});
  ASSERT_EQ(named.names.frames.size(), 2u);
  EXPECT_EQ(named.names.frames[0].at(0).function, "[libx.so+0x3010]");
  EXPECT_EQ(named.names.frames[1].at(0).function, "[libx.so+0x300f]");
  EXPECT_EQ(named.names.frames[0].at(0).system_name, "");
  EXPECT_EQ(named.notes.size(), 1u);
}

TEST(SymbolizeRecording, NamesTheBareAddressOutsideOfModules) {
  profile::Recording recording = recording_with("/no/such/libx.so");
  recording.frames.push_back({0, profile::kNone, RuntimeAddr{0x77}, PcKind::kExact});
  const NamedRecording named = symbolize_recording(recording, {});
  EXPECT_EQ(named.names.frames.at(0).at(0).function, "[0x77]");
  ASSERT_EQ(named.notes.size(), 1u);
  EXPECT_TRUE(
      named.notes.front().starts_with("1 address outside of all mapped files has no name; "));
}

// Java: the hot code is in anonymous memory, beside few addresses of the program's file.
TEST(SymbolizeRecording, TellsOfNamelessCodeInAnonymousMemoryToo) {
  constexpr std::uint64_t kFrames = 68;
  profile::Recording recording = recording_with("/no/such/java");
  recording.frames.push_back({0, 0, RuntimeAddr{0x10010}, PcKind::kExact});
  profile::Module heap = recording.modules.front();
  heap.start = RuntimeAddr{0x20000};
  heap.path = "[anon]";
  recording.modules.push_back(heap);
  for (std::uint64_t frame = 0; frame < kFrames; ++frame) {
    recording.frames.push_back({0, 1, RuntimeAddr{0x20000 + frame}, PcKind::kExact});
  }
  const NamedRecording named = symbolize_recording(recording, {});
  const auto is_of_generated = [](const std::string& note) {
    return note.starts_with(
        "68 addresses outside of all mapped files have no name; for JIT-compiled code");
  };
  EXPECT_TRUE(std::any_of(named.notes.begin(), named.notes.end(), is_of_generated));
}

profile::Recording python_recording(profile::Function function, std::uint32_t line) {
  profile::Recording recording;
  recording.processes.emplace_back();
  recording.functions.push_back(std::move(function));
  profile::Frame frame;
  frame.pc = RuntimeAddr{runtime_frame_pc({.function = 1, .line = line})};
  frame.kind = PcKind::kExact;
  frame.function = 0;
  frame.line = line;
  frame.execution = Execution::kBuiltIn;
  recording.frames.push_back(frame);
  return recording;
}

TEST(SymbolizeRecording, NamesAFunctionOfPythonWithItsFile) {
  profile::Recording recording =
      python_recording({0, Language::kPython, "Worker.run", "/srv/app.py", 28}, 31);
  const NamedRecording named = symbolize_recording(recording, {});
  ASSERT_EQ(named.names.frames.at(0).size(), 1u);
  const profile::NamedFrame& frame = named.names.frames[0][0];
  EXPECT_EQ(frame.function, "Worker.run (app.py)");
  EXPECT_EQ(frame.system_name, "Worker.run");
  EXPECT_EQ(frame.file, "/srv/app.py");
  EXPECT_EQ(frame.line, 31u);
  EXPECT_EQ(frame.start_line, 28u);
  EXPECT_EQ(frame.language, Language::kPython);
  EXPECT_EQ(frame.execution, Execution::kBuiltIn);
  EXPECT_TRUE(named.notes.empty());  // no address lacks a name
}

TEST(SymbolizeRecording, NamesAFunctionWithoutAFileOrPath) {
  profile::Recording plain = python_recording({0, Language::kPython, "f", "", 0}, 0);
  EXPECT_EQ(symbolize_recording(plain, {}).names.frames[0][0].function, "f");
  profile::Recording local = python_recording({0, Language::kPython, "f", "app.py", 0}, 0);
  EXPECT_EQ(symbolize_recording(local, {}).names.frames[0][0].function, "f (app.py)");
}

TEST(SymbolizeRecording, SaysThatAFunctionWasGone) {
  profile::Recording nameless = python_recording({0, Language::kPython, "", "/srv/app.py", 0}, 3);
  const NamedRecording named = symbolize_recording(nameless, {});
  EXPECT_EQ(named.names.frames[0][0].function, profile::kFunctionGone);
  EXPECT_EQ(named.names.frames[0][0].system_name, "");
  EXPECT_EQ(named.names.frames[0][0].language, Language::kPython);
  profile::Recording unknown = python_recording({}, 3);
  unknown.functions.clear();
  unknown.frames[0].function = profile::kNone;
  EXPECT_EQ(symbolize_recording(unknown, {}).names.frames[0][0].function, profile::kFunctionGone);
  EXPECT_TRUE(symbolize_recording(unknown, {}).notes.empty());
}

}  // namespace
}  // namespace swipr::commands
