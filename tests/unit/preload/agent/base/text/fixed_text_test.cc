#include "preload/agent/base/text/fixed_text.h"

#include <gtest/gtest.h>

namespace swipr::agent {
namespace {

TEST(AgentFixedText, LeavesOutWhatDoesNotFitAndSaysSo) {
  FixedText<5> text;
  text.append("abcd");
  EXPECT_FALSE(text.overflowed());
  text.append("e");
  EXPECT_TRUE(text.overflowed());
  EXPECT_STREQ(text.c_str(), "abcd");
}

TEST(AgentFixedText, WritesNumbers) {
  FixedText<100> text;
  text.append_number(0).append(' ').append_number(18446744073709551615u).append(' ');
  text.append_padded(7, 3).append(' ').append_hex(0xab, 4);
  EXPECT_EQ(text.view(), "0 18446744073709551615 007 00ab");
}

TEST(AgentFixedText, EscapesForJson) {
  FixedText<100> text;
  text.append_json_string("a\"b\\c\n\x7f");
  EXPECT_EQ(text.view(), "\"a\\\"b\\\\c\\u000a\\u007f\"");
}

TEST(AgentFixedText, KeepsUtf8AndReplacesWhatIsNone) {
  FixedText<100> text;
  text.append_json_string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9d");
  EXPECT_EQ(text.view(), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9d\"");
  for (const char* bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    text.clear();
    text.append_json_string(bad);
    EXPECT_TRUE(text.view().starts_with("\"\xef\xbf\xbd")) << bad;
  }
}

}  // namespace
}  // namespace swipr::agent
