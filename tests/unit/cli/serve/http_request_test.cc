#include "cli/serve/http_request.h"

#include <gtest/gtest.h>

#include <string>

namespace swipr::serve {
namespace {

constexpr std::string_view kPlain =
    "GET /abc/flame?x=1 HTTP/1.1\r\nAccept: */*\r\nhOST:  127.0.0.1:80 \r\n\r\n";

TEST(ParseRequest, ReadsMethodPathAndHost) {
  Request request;
  ASSERT_EQ(parse_request(kPlain, request), RequestState::kComplete);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/abc/flame");
  EXPECT_EQ(request.host, "127.0.0.1:80");
}

TEST(ParseRequest, WaitsForTheEmptyLine) {
  Request request;
  for (std::size_t length = 0; length < kPlain.size(); ++length) {
    EXPECT_EQ(parse_request(kPlain.substr(0, length), request), RequestState::kIncomplete);
  }
}

TEST(ParseRequest, TrustsNoneOfSeveralHosts) {
  Request request;
  ASSERT_EQ(parse_request("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", request),
            RequestState::kComplete);
  EXPECT_EQ(request.host, "");
}

TEST(ParseRequest, RefusesWhatIsNoRequest) {
  Request request;
  for (const std::string_view text :
       {"\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET http://x/ HTTP/1.1\r\n\r\n",
        "GET / SPDY/3\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"}) {
    EXPECT_EQ(parse_request(text, request), RequestState::kBad) << text;
  }
  EXPECT_EQ(parse_request(std::string(kMaxRequestBytes, 'x'), request), RequestState::kBad);
}

}  // namespace
}  // namespace swipr::serve
