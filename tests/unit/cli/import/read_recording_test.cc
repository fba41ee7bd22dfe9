#include "cli/import/read_recording.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "common/host/unique_fd.h"
#include "tests/unit/cli/import/swipr_file.h"

namespace swipr {
namespace {

using importers::read_recording;
using testing::HasSubstr;

host::Result<profile::Recording> read(std::string_view bytes) {
  const host::UniqueFd file(memfd_create("input", MFD_CLOEXEC));
  EXPECT_EQ(write(file.value(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(lseek(file.value(), 0, SEEK_SET), 0);
  return read_recording(file.value(), "input.bin");
}

std::string error_of(std::string_view bytes) {
  const auto result = read(bytes);
  return result ? "no error" : result.error().message();
}

TEST(ReadRecording, RecognisesTheRawFormat) {
  test::SwiprFile file;
  file.block(0, [](wire::Encoder& out) {
    test::source(out, 42);
    test::end(out, 0);
  });
  const auto& bytes = file.bytes();
  const auto result = read({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->processes.size(), 1u);
}

TEST(ReadRecording, RecognisesTextBehindOutputOfTheProgram) {
  const auto result = read(
      "listening on port 80\n[SWIPR] VERS {\"version\": 1}\n"
      "[SWIPR] SMPL {\"pid\": 1, \"tid\": 2, \"name\": \"n\", \"timeSec\": 1, \"timeNSec\": 0}\n");
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->samples.size(), 1u);
}

TEST(ReadRecording, NamesTheInputInItsErrors) {
  EXPECT_EQ(error_of(""), "input.bin: the input is empty, not a recording");
  EXPECT_EQ(error_of("hello"),
            "input.bin: not a recording (neither .swipr nor Swift Profile Recorder text)");
  EXPECT_THAT(error_of("\x1f\x8b\x08"), HasSubstr("gzip"));
  EXPECT_THAT(error_of("\x89PNG\r\n\x1a\n"), HasSubstr("input.bin: not a recording"));
}

TEST(ReadRecording, ReportsInputThatCannotBeRead) {
  const host::UniqueFd folder(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(read_recording(folder.value(), "/").error().message(), "cannot read /: Is a directory");
}

}  // namespace
}  // namespace swipr
