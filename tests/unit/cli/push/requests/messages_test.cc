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
  answer.is_lasting = true;
  answer.retry_after = std::chrono::seconds(7);
  answer.text = "line\nand \xff";
  const auto told = parse_answer(format_answer(answer));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->status, 429);
  EXPECT_TRUE(told->is_partial);
  EXPECT_TRUE(told->is_lasting);
  EXPECT_EQ(told->retry_after, answer.retry_after);
}

TEST(SendMessages, RefuseWhatIsNone) {
  for (const char* line : {"", "x", "[]", "1", "{"}) {
    EXPECT_FALSE(parse_place(line)) << line;
    EXPECT_FALSE(parse_request(line)) << line;
    EXPECT_FALSE(parse_answer(line)) << line;
  }
  for (const char* size : {"99999999999", "-1", "1e46", "7.5", "\"7\"", "null"}) {
    const auto line = std::string(R"({"body_bytes":)") + size + "}";
    EXPECT_FALSE(parse_request(line)) << line;
  }
  EXPECT_FALSE(parse_request("{}"));
}

TEST(SendMessages, TakeTheDefaultForWhatHasAnotherType) {
  const auto request = parse_request(R"({"path":7,"headers":[["a"],5],"body_bytes":1})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->request.path, "/");
  EXPECT_TRUE(request->request.headers.empty());
  const auto place = parse_place(R"({"proxy_port":65536})");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->proxy.port, 0);
}

// Found by fuzzing: the conversion of a number that the type cannot hold is undefined.
TEST(SendMessages, TakeTheDefaultForNumbersThatDoNotFit) {
  for (const char* number : {"4e46", "-4e46", "99999999999", "-99999999999", "200.5", "1e999"}) {
    const auto answer = parse_answer(std::string(R"({"status":)") + number + "}");
    EXPECT_EQ(answer ? answer->status : 0, 0) << number;
  }
  const auto answer = parse_answer(R"({"status":200,"retry_after_s":1e300})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->retry_after.count(), -1);
}

}  // namespace
}  // namespace swipr::push
