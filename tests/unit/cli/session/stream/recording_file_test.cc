#include "cli/session/stream/recording_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "common/wire/decoder.h"
#include "tests/unit/cli/session/stream_fixture.h"

namespace swipr::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(RecordingFile, WritesOneHeaderAndRenumberedBlocks) {
  TemporaryFolder folder;
  const std::string path = folder.file("x.swipr");
  auto file = RecordingFile::open(path);
  ASSERT_TRUE(file);
  const std::uint32_t first = file->add_source();
  const std::uint32_t second = file->add_source();
  ASSERT_TRUE(file->write_block(first, source_payload(1)));
  ASSERT_TRUE(file->write_block(second, source_payload(2)));
  ASSERT_TRUE(file->write_block(first, end_payload()));
  ASSERT_TRUE(file->close());
  EXPECT_THAT(
      blocks_of(read_bytes(path)),
      ElementsAre(Pair(0, source_payload(1)), Pair(1, source_payload(2)), Pair(0, end_payload())));
  EXPECT_EQ(file->bytes(), std::filesystem::file_size(path));
}

TEST(RecordingFile, EndRecordSaysHowASourceEnded) {
  TemporaryFolder folder;
  auto file = RecordingFile::open(folder.file("x.swipr"));
  ASSERT_TRUE(file);
  wire::EndRecord end;
  end.reason = wire::EndReason::kConnectionLost;
  end.duration_ns = 77;
  ASSERT_TRUE(file->write_end(file->add_source(), end));
  ASSERT_TRUE(file->close());
  const auto blocks = blocks_of(read_bytes(folder.file("x.swipr")));
  ASSERT_EQ(blocks.size(), 1u);
  std::span<const std::byte> payload = blocks.front().second;
  const auto record = wire::take_record(payload);
  ASSERT_TRUE(record);
  const auto decoded = wire::decode_end(record->payload);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->reason, wire::EndReason::kConnectionLost);
  EXPECT_EQ(decoded->duration_ns, 77u);
}

TEST(RecordingFile, KeepsAnOlderFileUntilTheFirstBlock) {
  TemporaryFolder folder;
  const std::string path = folder.file("old.swipr");
  std::ofstream(path) << std::string(5000, 'x');
  {
    auto file = RecordingFile::open(path);
    ASSERT_TRUE(file);
  }
  EXPECT_EQ(std::filesystem::file_size(path), 5000u);
  auto file = RecordingFile::open(path);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write_block(0, end_payload()));
  ASSERT_TRUE(file->close());
  EXPECT_EQ(blocks_of(read_bytes(path)).size(), 1u);
}

TEST(RecordingFile, LeavesNoEmptyFileBehind) {
  TemporaryFolder folder;
  const std::string path = folder.file("new.swipr");
  {
    auto file = RecordingFile::open(path);
    ASSERT_TRUE(file);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RecordingFile, DoesNotFollowLinksOfOthers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes links of other users";
  TemporaryFolder folder;
  std::ofstream(folder.file("real")) << "precious";
  std::filesystem::create_symlink("real", folder.file("link"));
  ASSERT_EQ(::lchown(folder.file("link").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(RecordingFile::open(folder.file("link")));
  EXPECT_EQ(std::filesystem::file_size(folder.file("real")), 8u);
}

TEST(RecordingFile, IsTemporaryUntilItIsKept) {
  TemporaryFolder folder;
  const std::string path = folder.file("kept.swipr");
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  auto file = RecordingFile::create_temporary(parent);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write_block(0, end_payload()));
  EXPECT_TRUE(std::filesystem::is_empty(parent));
  Bytes bytes(file->bytes());
  const int fd = file->rewind();
  EXPECT_EQ(::read(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ASSERT_TRUE(file->keep_as(path));
  EXPECT_EQ(read_bytes(path), bytes);
  EXPECT_FALSE(file->keep_as(path)) << "such a file is there";
  ASSERT_TRUE(file->close());
  EXPECT_EQ(read_bytes(path), bytes);
}

TEST(RecordingFile, NamesWhatCannotBeOpened) {
  const auto file = RecordingFile::open("/no/such/folder/x.swipr");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message(), HasSubstr("/no/such/folder/x.swipr: No such file"));
}

TEST(RecordingFile, RemembersAFullDisk) {
  auto file = RecordingFile::open("/dev/full");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->write_block(0, end_payload()));
  ASSERT_TRUE(file->failed());
  EXPECT_THAT(file->error()->message(), HasSubstr("cannot write /dev/full: No space left"));
  EXPECT_FALSE(file->write_block(0, end_payload()));
}

// A limit on the file's size fails in the middle of a block, as a full disk does.
TEST(RecordingFile, EndsWithAWholeBlockWhenTheDiskFills) {
  TemporaryFolder folder;
  const std::string path = folder.file("limited.swipr");
  auto file = RecordingFile::open(path);
  ASSERT_TRUE(file);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::size_t written = 0;
  const Bytes payload = source_payload(1);
  while (written < 1000 && file->write_block(0, payload)) ++written;
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(file->failed());
  ASSERT_TRUE(file->close());
  EXPECT_GT(written, 1u);
  EXPECT_EQ(blocks_of(read_bytes(path)).size(), written);
}

}  // namespace
}  // namespace swipr::session
