// Recordings that are truncated or damaged: valid parts are used, the rest is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/import/swipr_reader.h"
#include "tests/unit/cli/import/swipr_file.h"

namespace swipr {
namespace {

using importers::SwiprReader;
using profile::kNone;
using profile::Recording;
using test::SwiprFile;
using testing::Contains;
using testing::HasSubstr;
using wire::Encoder;

constexpr std::uint64_t kTickNs = 10'000'000;

Recording read(const std::vector<std::byte>& bytes) {
  SwiprReader reader;
  reader.feed(bytes);
  auto result = reader.finish();
  if (!result) {
    ADD_FAILURE() << result.error().message();
    return {};
  }
  return std::move(*result);
}

// Four blocks: definitions, then three with one tick each; offsets of the blocks as well.
struct File {
  SwiprFile file;
  std::vector<std::size_t> blocks;

  template <typename Fill>
  void add(Fill fill) {
    blocks.push_back(file.size());
    file.block(0, fill);
  }
};

File four_blocks(std::uint64_t second_stack_id = 2) {
  File made;
  made.add([](Encoder& out) {
    test::source(out, 42);
    test::thread(out, 1, 43, "worker");
    test::stack(out, 1, {0x10010});
  });
  made.add([](Encoder& out) { test::tick(out, kTickNs, {{1, 1}}); });
  made.add([second_stack_id](Encoder& out) {
    test::stack(out, second_stack_id, {0x10020});
    test::tick(out, kTickNs, {{1, second_stack_id}});
  });
  made.add([](Encoder& out) {
    test::tick(out, kTickNs, {{.thread_index = 1, .same_stack = true}});
    test::tick(out, kTickNs, {{1, 1}});
    test::end(out, 4 * kTickNs);
  });
  return made;
}

TEST(DamagedRecording, GoesOnAtABlockWhereverItBegins) {
  for (std::size_t gap : {1u, 4080u, 4093u, 4095u, 4096u, 4097u, 8190u, 300'000u}) {
    File made = four_blocks();
    auto& bytes = made.file.bytes();
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(made.blocks[2]);
    bytes.insert(place, gap, std::byte{'S'});
    bytes.insert(bytes.end(), gap, std::byte{0});
    const Recording recording = read(bytes);
    EXPECT_EQ(recording.samples.size(), 4u) << gap;
  }
}

TEST(DamagedRecording, SkipsABlockWithAWrongChecksum) {
  File made = four_blocks();
  made.file.bytes()[made.blocks[1] + wire::kBlockHeaderBytes + 3] ^= std::byte{0x40};
  const Recording recording = read(made.file.bytes());
  EXPECT_EQ(recording.samples.size(), 3u);
  EXPECT_TRUE(recording.processes.at(0).complete);
  const std::size_t lost = made.blocks[2] - made.blocks[1];
  EXPECT_THAT(recording.warnings, Contains("the recording is damaged: " + std::to_string(lost) +
                                           " bytes in 1 place were skipped"));
}

TEST(DamagedRecording, ShowsNoStackRatherThanAWrongOne) {
  File made = four_blocks();
  made.file.bytes()[made.blocks[2] + wire::kBlockHeaderBytes + 3] ^= std::byte{0x40};
  const Recording recording = read(made.file.bytes());
  ASSERT_EQ(recording.samples.size(), 3u);
  EXPECT_NE(recording.samples[0].stack, kNone);
  EXPECT_EQ(recording.samples[1].stack, kNone);  // "same as before", but before is lost
  EXPECT_NE(recording.samples[2].stack, kNone);
  EXPECT_THAT(recording.warnings, Contains(HasSubstr("1 samples have no stack")));
}

TEST(DamagedRecording, ForgetsStackIdsThatMayHaveBeenRedefined) {
  File made = four_blocks(1);  // the third block redefines id 1
  SwiprFile& file = made.file;
  file.block(0, [](Encoder& out) { test::tick(out, kTickNs, {{1, 1}}); });
  file.bytes()[made.blocks[3] + wire::kBlockHeaderBytes + 3] ^= std::byte{0x40};
  const Recording recording = read(file.bytes());
  ASSERT_EQ(recording.samples.size(), 3u);
  EXPECT_EQ(recording.samples[2].stack, kNone);
}

TEST(DamagedRecording, FindsTheNextBlockBehindAWrongLength) {
  for (const std::size_t byte : {8u, 9u, 10u}) {  // of the payload's length
    File made = four_blocks();
    made.file.bytes()[made.blocks[1] + byte] ^= std::byte{0x0F};
    const Recording recording = read(made.file.bytes());
    EXPECT_EQ(recording.samples.size(), 3u) << byte;
    EXPECT_TRUE(recording.processes.at(0).complete) << byte;
  }
}

TEST(DamagedRecording, StepsOverGarbageBetweenBlocks) {
  SwiprFile file;
  file.garbage("SWBK is not a block, SW neither");
  file.block(0, [](Encoder& out) {
    test::source(out, 42);
    test::end(out, 0);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(recording.processes.size(), 1u);
  EXPECT_THAT(recording.warnings, Contains(HasSubstr("31 bytes in 1 place were skipped")));
}

TEST(DamagedRecording, IsUsedUpToTheCutWhereverThatIs) {
  const std::vector<std::byte> whole = four_blocks().file.bytes();
  std::size_t most = 0;
  for (std::size_t size = wire::kFileHeaderBytes; size < whole.size(); ++size) {
    const Recording recording = read({whole.begin(), whole.begin() + static_cast<long>(size)});
    EXPECT_GE(recording.samples.size(), most) << "a longer file must not hold less, at " << size;
    EXPECT_FALSE(recording.warnings.empty()) << size;
    most = recording.samples.size();
  }
  EXPECT_EQ(most, 4u);
}

TEST(DamagedRecording, TakesWholeRecordsOfACutBlock) {
  File made;
  made.add([](Encoder& out) {
    test::source(out, 42);
    test::thread(out, 1, 43, "worker");
    test::tick(out, kTickNs, {{1, 0}});
    test::tick(out, kTickNs, {{1, 0}});
  });
  std::vector<std::byte>& bytes = made.file.bytes();
  bytes.pop_back();
  const Recording recording = read(bytes);
  EXPECT_EQ(recording.samples.size(), 1u);
  EXPECT_THAT(recording.warnings,
              Contains("the recording is truncated; it is used as far as possible"));
  EXPECT_THAT(recording.warnings, Contains(HasSubstr("is truncated after")));
}

TEST(DamagedRecording, ReadsWhatIsLeftWithoutItsFirstBlock) {
  File made = four_blocks();
  made.file.bytes()[made.blocks[0] + wire::kBlockHeaderBytes + 3] ^= std::byte{0x40};
  const Recording recording = read(made.file.bytes());
  EXPECT_EQ(recording.samples.size(), 4u);
  EXPECT_EQ(recording.processes.at(0).pid, Pid{0});
}

TEST(DamagedRecording, CountsRecordsWithImpossibleContent) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    test::source(out, 42);
    const std::size_t mark = out.begin_record(wire::RecordType::kThread);
    out.put_varint(1);
    out.end_record(mark);
    test::end(out, 0);
  });
  EXPECT_THAT(read(file.bytes()).warnings, Contains("1 record could not be read: skipped"));
}

TEST(DamagedRecording, CannotBeMadeToFloodTheWarnings) {
  SwiprFile file;
  file.block(0, [](Encoder& out) {
    test::source(out, 42);
    for (int count = 0; count < 500; ++count) {
      encode(out, wire::MessageRecord{wire::MessageLevel::kNote, "again"});
    }
    test::end(out, 0);
  });
  const Recording recording = read(file.bytes());
  EXPECT_EQ(recording.warnings.size(), 101u);
  EXPECT_EQ(recording.warnings.back(), "400 more warnings");
}

}  // namespace
}  // namespace swipr
