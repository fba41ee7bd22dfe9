#include "cli/push/requests/messages.h"

#include <gtest/gtest.h>

namespace swipr::push {
namespace {

TEST(SendMessages, AreReadAsTheyWereWritten) {
  const SendPlace place{"https://x:1", {"p", 2, "u", "w"}, "/ca"};
  const auto again = parse_place(format_place(place));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->origin, place.origin);
  EXPECT_EQ(again->proxy.port, 2);
  EXPECT_EQ(again->ca_file, "/ca");
  const Request request{"/p", {{"A", "b\nc"}}, "four"};
  const std::string line = format_request(request);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto announced = parse_request(line);
  ASSERT_TRUE(announced);
  EXPECT_EQ(announced->request.headers, request.headers);
  EXPECT_EQ(announced->body_bytes, 4u);
  Answer answer;
  answer.status = 429;
  answer.is_partial = true;
  answer.retry_after = std::chrono::seconds(7);
  answer.text = "line\nand \xff";
  const auto told = parse_answer(format_answer(answer));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->status, 429);
  EXPECT_TRUE(told->is_partial);
  EXPECT_EQ(told->retry_after, answer.retry_after);
}

TEST(SendMessages, RefuseWhatIsNone) {
  for (const char* line : {"", "x", "[]", "1", "{"}) {
    EXPECT_FALSE(parse_place(line)) << line;
    EXPECT_FALSE(parse_request(line)) << line;
    EXPECT_FALSE(parse_answer(line)) << line;
  }
  EXPECT_FALSE(parse_request(R"({"body_bytes":99999999999})"));
  const auto wrong = parse_request(R"({"path":7,"headers":[["a"],5],"body_bytes":-1})");
  EXPECT_TRUE(!wrong || wrong->request.headers.empty());
}

}  // namespace
}  // namespace swipr::push
