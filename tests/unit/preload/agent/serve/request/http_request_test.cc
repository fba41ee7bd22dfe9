#include "preload/agent/serve/request/http_request.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace swipr::agent {
namespace {

using Status = HttpRequestParser::Status;

std::unique_ptr<HttpRequestParser> parse(std::string_view text, std::size_t piece = 1 << 20) {
  auto parser = std::make_unique<HttpRequestParser>();
  while (!text.empty()) {
    const std::string_view part = text.substr(0, piece);
    parser->feed(part);
    text.remove_prefix(part.size());
  }
  return parser;
}

std::string body_of(HttpRequestParser& parser) {
  return {parser.body().begin(), parser.body().end()};
}

int failure(std::string_view text) {
  const auto parser = parse(text);
  return parser->status() == Status::kFailed ? parser->error().status : 0;
}

TEST(AgentHttpRequest, SplitsTargetIntoPathAndQuery) {
  const auto parser =
      parse("GET /debug/pprof/profile?seconds=5&rate=10 HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(parser->status(), Status::kComplete);
  EXPECT_EQ(parser->method(), "GET");
  EXPECT_EQ(parser->path(), "/debug/pprof/profile");
  EXPECT_EQ(parser->query(), "seconds=5&rate=10");
  EXPECT_EQ(parser->host(), "h");
}

TEST(AgentHttpRequest, TellsWhichPageAsks) {
  const auto parser = parse("GET / HTTP/1.1\r\norigin: http://a:1 \r\nHost: b\r\n\r\n");
  ASSERT_EQ(parser->status(), Status::kComplete);
  EXPECT_EQ(parser->origin(), "http://a:1");
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: b\r\n\r\n")->origin(), "");
}

TEST(AgentHttpRequest, TakesAnyPieces) {
  const std::string_view text =
      "POST /sample HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello and what follows";
  for (std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{50}}) {
    const auto parser = parse(text, piece);
    ASSERT_EQ(parser->status(), Status::kComplete);
    EXPECT_EQ(body_of(*parser), "hello");
  }
}

TEST(AgentHttpRequest, WaitsForTheWholeBody) {
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhell")->status(), Status::kNeedMore);
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nContent-Length: 5\r\n")->status(), Status::kNeedMore);
}

TEST(AgentHttpRequest, JoinsChunks) {
  for (std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{500}}) {
    const auto parser = parse(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5;x=y\r\nhello\r\nA\r\n, world!!!\r\n0\r\nTrailer: 1\r\n\r\n",
        piece);
    ASSERT_EQ(parser->status(), Status::kComplete);
    EXPECT_EQ(body_of(*parser), "hello, world!!!");
  }
}

TEST(AgentHttpRequest, AcceptsWhatAProxyIsSent) {
  EXPECT_EQ(parse("GET http://localhost/v1/info HTTP/1.1\r\n\r\n")->path(), "/v1/info");
  EXPECT_EQ(parse("GET http://localhost HTTP/1.1\r\n\r\n")->path(), "/");
}

TEST(AgentHttpRequest, AcceptsBareLineFeedsAndOldVersions) {
  const auto parser = parse("\r\nGET / HTTP/1.0\n\n");
  EXPECT_EQ(parser->status(), Status::kComplete);
  EXPECT_TRUE(parser->is_http_1_0());
}

TEST(AgentHttpRequest, SaysWhenTheClientWaitsForContinue) {
  const auto parser = parse("POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_TRUE(parser->expects_continue());
}

TEST(AgentHttpRequest, RefusesMalformedHeads) {
  EXPECT_EQ(failure("hello\r\n\r\n"), 400);
  EXPECT_EQ(failure("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(failure("GET relative HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(failure("GET /a b HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(failure("G\x01T / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(failure("GET / HTTP/1.1\r\nno colon\r\n\r\n"), 400);
  EXPECT_EQ(failure("GET / HTTP/1.1\r\nName : x\r\n\r\n"), 400);
  EXPECT_EQ(failure("GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n"), 400);
  EXPECT_EQ(failure("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(failure("GET / HTTP/1.1\r\nOrigin:\r\nOrigin: http://a\r\n\r\n"), 400);
}

TEST(AgentHttpRequest, RefusesAmbiguousLengths) {
  EXPECT_EQ(failure("POST / HTTP/1.1\r\nContent-Length: 5x\r\n\r\n"), 400);
  EXPECT_EQ(failure("POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n"), 400);
  EXPECT_EQ(failure("POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"), 400);
  EXPECT_EQ(failure("POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
            400);
  EXPECT_EQ(failure("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n"), 501);
}

TEST(AgentHttpRequest, RefusesWrongChunks) {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(failure(head + "xyz\r\n"), 400);
  EXPECT_EQ(failure(head + "2\r\nabc\r\n"), 400);
  EXPECT_EQ(failure(head + "10001\r\n"), 413);
  EXPECT_EQ(failure(head + "ffffffffffffffffff\r\n"), 413);
  EXPECT_EQ(failure(head + "1;" + std::string(300, 'x') + "\r\n"), 400);
  EXPECT_EQ(failure(head + "0\r\n" + std::string(kMaxHeadBytes + 1, 'x')), 431);
}

TEST(AgentHttpRequest, RefusesWhatIsTooLong) {
  EXPECT_EQ(failure("GET / HTTP/1.1\r\nA: " + std::string(kMaxHeadBytes, 'x')), 431);
  EXPECT_EQ(failure("POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n"), 413);
  EXPECT_EQ(failure("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n"), 413);
  const std::string chunk = "a000\r\n" + std::string(0xa000, 'x') + "\r\n";  // 40 KiB
  EXPECT_EQ(failure("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk), 413);
}

TEST(AgentHttpRequest, TakesAHeadOfTheGreatestLengthAndNoByteMore) {
  const std::string start = "GET / HTTP/1.1\r\nA: ";
  const std::string end = "\r\n\r\n";
  const std::string value(kMaxHeadBytes - start.size() - end.size(), 'x');
  EXPECT_EQ(parse(start + value + end)->status(), Status::kComplete);
  EXPECT_EQ(failure(start + value + "x" + end), 431);
}

TEST(AgentHttpRequest, TakesABodyOfTheGreatestLength) {
  const std::string body(kMaxBodyBytes, 'x');
  const auto parser = parse("POST / HTTP/1.1\r\nContent-Length: 65536\r\n\r\n" + body);
  ASSERT_EQ(parser->status(), Status::kComplete);
  EXPECT_EQ(parser->body().size(), kMaxBodyBytes);
}

TEST(AgentHttpRequest, FindsQueryValuesByWholeName) {
  std::string_view value;
  EXPECT_TRUE(find_query_value("xrate=1&rate=20&flag", "rate", value));
  EXPECT_EQ(value, "20");
  EXPECT_TRUE(find_query_value("rate=20&flag", "flag", value));
  EXPECT_EQ(value, "");
  EXPECT_FALSE(find_query_value("rate=20", "rat", value));
}

TEST(HttpRequest, TakesABearerToken) {
  const auto token = [](std::string_view header) {
    return std::string(
        parse("GET / HTTP/1.1\r\n" + std::string(header) + "\r\n\r\n")->bearer_token());
  };
  EXPECT_EQ(token("Authorization: Bearer abc"), "abc");
  EXPECT_EQ(token("authorization:  bEARER  abc "), "abc");
  EXPECT_EQ(token("Authorization: Basic abc"), "");
  EXPECT_EQ(token("Authorization: Bearer"), "");
  EXPECT_EQ(token("Authorization:"), "");
  EXPECT_EQ(token("Host: b"), "");
  EXPECT_EQ(failure("GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: a\r\n\r\n"), 400);
}

TEST(HttpRequest, ComparesWholeSecrets) {
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  for (std::string_view given : {"", "ab", "abd", "xbc", "abcd"}) {
    EXPECT_FALSE(is_same_secret(given, "abc")) << given;
  }
  EXPECT_FALSE(is_same_secret("", ""));
}

}  // namespace
}  // namespace swipr::agent
