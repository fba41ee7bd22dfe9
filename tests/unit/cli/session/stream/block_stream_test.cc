#include "cli/session/stream/block_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/wire/format.h"
#include "tests/unit/cli/session/stream_fixture.h"

namespace swipr::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Split {
  std::vector<Bytes> payloads;
  std::string error;
  bool at_boundary = false;
};

Split split(const Bytes& bytes, std::size_t step) {
  Split result;
  BlockStream stream([&](std::span<const std::byte> payload) {
    result.payloads.emplace_back(payload.begin(), payload.end());
    return host::Result<void>();
  });
  for (std::size_t at = 0; at < bytes.size() && result.error.empty(); at += step) {
    const auto piece = std::span(bytes).subspan(at, std::min(step, bytes.size() - at));
    if (auto done = stream.feed(piece); !done) result.error = done.error().message();
  }
  result.at_boundary = stream.at_boundary();
  return result;
}

TEST(BlockStream, SplitsPiecesOfAnySize) {
  const Bytes first = source_payload(1);
  const Bytes second = tick_payload(3, 10);
  const Bytes bytes = file_header() + block(first) + block({}) + block(second, 7);
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    const Split result = split(bytes, step);
    EXPECT_EQ(result.error, "");
    EXPECT_THAT(result.payloads, ElementsAre(first, Bytes(), second)) << step;
    EXPECT_TRUE(result.at_boundary);
  }
}

TEST(BlockStream, KnowsThatABlockIsCut) {
  Bytes bytes = file_header() + block(source_payload(1));
  bytes.pop_back();
  const Split result = split(bytes, bytes.size());
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(result.payloads, ElementsAre());
  EXPECT_FALSE(result.at_boundary);
}

TEST(BlockStream, RefusesAnotherKindOfStream) {
  EXPECT_THAT(split(to_bytes("[SWIPR] VERS { \"version\": 1}\n"), 100).error,
              HasSubstr("does not send a .swipr"));
}

TEST(BlockStream, RefusesANewerVersion) {
  Bytes bytes = file_header();
  bytes[wire::kFileMagic.size()] = std::byte{2};
  EXPECT_THAT(split(bytes, 100).error, HasSubstr("version 2"));
}

TEST(BlockStream, RefusesDamage) {
  const Bytes header = file_header();
  const Bytes good = block(source_payload(1));
  for (std::size_t at = 0; at < good.size(); ++at) {
    if (at >= 4 && at < 8) continue;  // the source's number is not checked here
    Bytes bad = good;
    bad[at] ^= std::byte{0x40};
    const Split result = split(header + bad, 1000);
    // With an increased length the block waits for more data.
    EXPECT_TRUE(!result.error.empty() || !result.at_boundary) << at;
    EXPECT_THAT(result.payloads, ElementsAre()) << at;
  }
}

TEST(BlockStream, RefusesBlocksThatAreTooLong) {
  Bytes bytes = file_header() + block({});
  bytes[wire::kFileHeaderBytes + 11] = std::byte{0x7f};  // top byte of the payload's length
  EXPECT_THAT(split(bytes, 100).error, HasSubstr("no block"));
}

}  // namespace
}  // namespace swipr::session
