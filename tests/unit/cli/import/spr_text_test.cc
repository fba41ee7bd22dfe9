#include "cli/import/spr_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace swipr {
namespace {

using namespace std::chrono_literals;
using importers::SprTextReader;
using profile::kNone;
using profile::Recording;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kHead =
    "[SWIPR] VERS { \"version\": 1}\n"
    "[SWIPR] VMAP {\"path\": \"/bin/app\", \"architecture\": \"x86_64\", \"segmentSlide\": "
    "\"0x10000\", \"segmentStartAddress\": \"0x12000\", \"segmentEndAddress\": \"0x13000\"}\n"
    "[SWIPR] CONF { \"sampleCount\": 10, \"microSecondsBetweenSamples\": 1000, "
    "\"currentTimeSeconds\": 100, \"currentTimeNanoseconds\": 2, }\n";

constexpr std::string_view kSample =
    "[SWIPR] SMPL {\"pid\": 1, \"tid\": 2, \"name\": \"main\", \"timeSec\": 4, \"timeNSec\": 5}\n"
    "[SWIPR] STCK {\"ip\": \"0x12345\", \"sp\": \"0x1\"}\n"
    "[SWIPR] STCK {\"ip\": \"0x12345\", \"sp\": \"0x1\"}\n"
    "[SWIPR] STCK {\"ip\": \"0x12400\", \"sp\": \"0x2\"}\n"
    "[SWIPR] STCK {\"ip\": \"0x99\", \"sp\": \"0x3\"}\n"
    "[SWIPR] DONE\n";

host::Result<Recording> parse(std::string_view text, std::size_t chunk = 1 << 20) {
  SprTextReader reader;
  while (!text.empty()) {
    reader.feed(std::as_bytes(std::span(text.substr(0, chunk))));
    text.remove_prefix(std::min(chunk, text.size()));
  }
  return reader.finish();
}

Recording read(std::string_view text, std::size_t chunk = 1 << 20) {
  auto result = parse(text, chunk);
  if (!result) {
    ADD_FAILURE() << result.error().message();
    return {};
  }
  return std::move(*result);
}

std::string error_of(std::string_view text) {
  const auto result = parse(text);
  return result ? "no error" : result.error().message();
}

TEST(SprText, ReadsOneSample) {
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20}) {
    const Recording recording = read(std::string(kHead) + std::string(kSample), chunk);
    ASSERT_EQ(recording.samples.size(), 1u);
    EXPECT_EQ(recording.samples[0].time, 4s + 5ns);
    EXPECT_EQ(recording.samples[0].wall, 1ms);
    EXPECT_EQ(recording.samples[0].state, profile::State::kUnknown);
    ASSERT_EQ(recording.processes.size(), 1u);
    EXPECT_EQ(recording.processes[0].pid, Pid{1});
    EXPECT_EQ(recording.processes[0].interval, 1ms);
    EXPECT_EQ(recording.processes[0].start_realtime, 100s + 2ns);
    EXPECT_EQ(recording.processes[0].duration, 1ms);
    ASSERT_EQ(recording.threads.size(), 1u);
    EXPECT_EQ(recording.threads[0].name, "main");
  }
}

TEST(SprText, DropsTheRepeatedInnermostFrame) {
  const Recording recording = read(std::string(kHead) + std::string(kSample));
  ASSERT_EQ(recording.frames.size(), 3u);
  EXPECT_EQ(recording.frames[0].pc, RuntimeAddr{0x12345});
  EXPECT_EQ(recording.frames[0].kind, PcKind::kExact);
  EXPECT_EQ(recording.frames[1].kind, PcKind::kReturnAddress);
}

TEST(SprText, TakesTheSlideForTheLoadBias) {
  const Recording recording = read(std::string(kHead) + std::string(kSample));
  ASSERT_EQ(recording.modules.size(), 1u);
  EXPECT_EQ(recording.modules[0].load_bias, 0x10000u);
  EXPECT_EQ(recording.modules[0].start, RuntimeAddr{0x12000});
  EXPECT_EQ(recording.modules[0].size_bytes, 0x1000u);
  EXPECT_FALSE(recording.modules[0].has_file_offset);
  EXPECT_EQ(recording.frames.at(0).module, 0u);
  EXPECT_EQ(recording.frames.at(2).module, kNone);
}

TEST(SprText, SaysWhatTheFormatLacks) {
  EXPECT_THAT(read(std::string(kHead) + std::string(kSample)).warnings,
              ElementsAre(HasSubstr("no CPU times")));
}

TEST(SprText, IgnoresOtherLinesUnknownTagsAndUnknownKeys) {
  const Recording recording =
      read("starting up\n[SWIPR] NEWS {\"x\": 1}\n" + std::string(kHead) +
           "[SWIPR]x\nnoise [SWIPR] MESG {\"exit\": 1}\n" + std::string(kSample) + "bye");
  EXPECT_EQ(recording.samples.size(), 1u);
  EXPECT_EQ(recording.warnings.size(), 1u);
}

TEST(SprText, KeepsASampleThatIsCutOff) {
  const std::string text = std::string(kHead) + std::string(kSample);
  const Recording recording = read(std::string_view(text).substr(0, text.find("[SWIPR] DONE")));
  EXPECT_EQ(recording.samples.size(), 1u);
}

TEST(SprText, StartsNewMappingsWithASegmentBehindASample) {
  std::string text = std::string(kHead) + std::string(kSample);
  std::string second = text;
  second.replace(second.find("/bin/app"), 8, "/bin/two");
  const Recording recording = read(text + second);
  ASSERT_EQ(recording.samples.size(), 2u);
  ASSERT_EQ(recording.modules.size(), 2u);
  EXPECT_EQ(recording.modules[1].path, "/bin/two");
  EXPECT_EQ(recording.processes.size(), 2u);
}

TEST(SprText, CountsLinesItCannotRead) {
  const Recording recording = read(
      std::string(kHead) + "[SWIPR] STCK {\"ip\": \"0x12\"}\n[SWIPR] SMPL {\"pid\": \"one\"}\n" +
      "[SWIPR] SMPL {{{{\n[SWIPR] VMAP []\n" + std::string(kSample));
  EXPECT_EQ(recording.samples.size(), 1u);
  EXPECT_THAT(recording.warnings, Contains("4 lines could not be read: skipped"));
}

TEST(SprText, SkipsLinesWithoutEnd) {
  const std::string endless = "[SWIPR] MESG " + std::string(std::size_t{3} << 20, 'x') + "\n";
  const Recording recording = read(std::string(kHead) + endless + std::string(kSample), 4096);
  EXPECT_EQ(recording.samples.size(), 1u);
  EXPECT_THAT(recording.warnings, Contains("1 line could not be read: skipped"));
}

TEST(SprText, ReportsAFailedRecording) {
  EXPECT_EQ(
      error_of(std::string(kHead) + "[SWIPR] MESG { \"message\": \"no memory\", \"exit\": 1 }\n"),
      "the recording failed: no memory");
}

TEST(SprText, PassesMessagesOn) {
  EXPECT_THAT(read(std::string(kHead) + "[SWIPR] MESG {\"message\": \"slow disk\"}\n").warnings,
              Contains("slow disk"));
}

TEST(SprText, RefusesOtherVersions) {
  EXPECT_EQ(error_of("[SWIPR] VERS { \"version\": 2}\n"),
            "Swift Profile Recorder text of version 2: this swipr reads 1");
}

TEST(SprText, RefusesTextWithoutItsLines) {
  EXPECT_THAT(error_of("hello\nworld\n"), HasSubstr("not a recording"));
}

}  // namespace
}  // namespace swipr
