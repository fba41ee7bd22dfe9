#include "cli/session/http/http_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/session/stream_fixture.h"

namespace swipr::session {
namespace {

using testing::HasSubstr;

struct Reading {
  std::string body;
  std::string error;  // empty: none
  int status = 0;
  bool complete = false;
};

// Feeds the text in pieces of `step` bytes; `closed`: the peer closes after it.
Reading read(const std::string& text, std::size_t step, bool closed = false) {
  Reading reading;
  ResponseReader reader([&](std::span<const std::byte> bytes) {
    reading.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return host::Result<void>();
  });
  const Bytes bytes = to_bytes(text);
  for (std::size_t at = 0; at < bytes.size() && reading.error.empty(); at += step) {
    const auto piece = std::span(bytes).subspan(at, std::min(step, bytes.size() - at));
    if (auto done = reader.feed(piece); !done) reading.error = done.error().message();
  }
  if (closed && reading.error.empty()) {
    if (auto done = reader.finish(); !done) reading.error = done.error().message();
  }
  reading.status = reader.status();
  reading.complete = reader.complete();
  return reading;
}

TEST(ResponseReader, ReadsChunksInPiecesOfAnySize) {
  const std::string text =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n,\r\n"
      "0A\r\n 0123\r\n678\r\n0\r\nTrailer: x\r\n\r\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    const Reading reading = read(text, step);
    EXPECT_EQ(reading.error, "");
    EXPECT_EQ(reading.body, "hello, 0123\r\n678") << step;
    EXPECT_EQ(reading.status, 200);
    EXPECT_TRUE(reading.complete);
  }
}

TEST(ResponseReader, StopsAtContentLength) {
  const Reading reading = read("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnope", 3);
  EXPECT_EQ(reading.body, "nope");
  EXPECT_EQ(reading.status, 404);
  EXPECT_TRUE(reading.complete);
}

TEST(ResponseReader, ReadsUntilTheEndWithoutLength) {
  const std::string text = "HTTP/1.0 200 OK\n\nall of it";
  EXPECT_FALSE(read(text, 4).complete);
  EXPECT_TRUE(read(text, 4, true).complete);
  EXPECT_EQ(read(text, 4, true).body, "all of it");
}

TEST(ResponseReader, SkipsInterimAnswers) {
  const Reading reading =
      read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 7);
  EXPECT_EQ(reading.status, 200);
  EXPECT_EQ(reading.body, "ok");
}

TEST(ResponseReader, NoticesAnEndInTheMiddle) {
  EXPECT_THAT(read("", 1, true).error, HasSubstr("without an answer"));
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", 1, true).error,
              HasSubstr("closed in the middle"));
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", 1, true).error,
              HasSubstr("closed in the middle"));
}

TEST(ResponseReader, RefusesWhatIsNotHttp) {
  for (const char* text :
       {"220 mail ESMTP\r\n", "HTTP/2 200\r\n", "HTTP/1.1 abc\r\n", "HTTP/1.1 20\r\n", "\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n"}) {
    EXPECT_NE(read(text, 2).error, "") << text;
  }
}

TEST(ResponseReader, RefusesWrongChunks) {
  const std::string header = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* chunks : {"x\r\n", "-1\r\n", "\r\n", "ffffffffffffffff\r\n", "5 5\r\n",
                             "10000000\r\n", "1\r\nab\r\n", "0\r\n\r\nmore"}) {
    EXPECT_NE(read(header + chunks, 3).error, "") << chunks;
  }
}

TEST(ResponseReader, BoundsTheHeader) {
  const std::string filler(kMaxHeaderBytes + 1, 'x');
  EXPECT_THAT(read(filler, 1000).error, HasSubstr("too long"));
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nX: " + filler, 1000).error, HasSubstr("too long"));
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + filler, 1000).error,
              HasSubstr("too long"));
}

TEST(ResponseReader, DoesNotAddUpTheLinesOfChunks) {
  std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t i = 0; i < kMaxHeaderBytes; ++i) text += "1\r\nx\r\n";
  const Reading reading = read(text + "0\r\n\r\n", 4096);
  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.body.size(), kMaxHeaderBytes);
}

TEST(ResponseReader, PassesTheSinksErrorOn) {
  ResponseReader reader(
      [](std::span<const std::byte>) -> host::Result<void> { return host::Error("full"); });
  const auto done = reader.feed(to_bytes("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "full");
}

}  // namespace
}  // namespace swipr::session
