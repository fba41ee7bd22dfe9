#include "common/host/text/clean_text.h"

#include <gtest/gtest.h>

namespace swipr::host {
namespace {

TEST(CleanText, KeepsUtf8AndReplacesWhatIsNot) {
  EXPECT_EQ(clean_text("plain"), "plain");
  EXPECT_EQ(clean_text("a\tb\nc\x7f"), "a b c ");
  EXPECT_EQ(clean_text("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(clean_text("\xff\xc3"), "??");
  EXPECT_EQ(clean_text("\xc0\xaf"), "??");            // overlong "/"
  EXPECT_EQ(clean_text("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(clean_text("\xf4\x90\x80\x80"), "????");  // after the last code point
}

TEST(CleanText, ShowsControlsBeyondAscii) {
  EXPECT_EQ(clean_text("a\xc2\x9b"
                       "31mb"),
            "a\\u009b31mb");  // CSI: would colour the rest
  EXPECT_EQ(clean_text("\xc2\x80\xc2\x85\xc2\x9f"), "\\u0080\\u0085\\u009f");
  EXPECT_EQ(clean_text("\xc2\xa0"), "\xc2\xa0");  // a space, not a control character
  EXPECT_EQ(clean_text("\xe2\x80\xa8\xe2\x80\xa9"), "\\u2028\\u2029");
}

TEST(CleanText, ShowsWhatChangesTheOrderOfReading) {
  EXPECT_EQ(clean_text("main\xe2\x80\xae"
                       "cba"),
            "main\\u202ecba");
  EXPECT_EQ(clean_text("\xe2\x80\xaa\xe2\x81\xa6\xe2\x81\xa9"), "\\u202a\\u2066\\u2069");
  EXPECT_EQ(clean_text("\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c"), "\\u200e\\u200f\\u061c");
  EXPECT_EQ(clean_text("\xd7\xa9\xd7\x9c"), "\xd7\xa9\xd7\x9c");  // Hebrew letters stay
}

TEST(EscapeText, IsTheContentsOfALiteral) {
  using namespace std::string_view_literals;
  EXPECT_EQ(escape_text("a\"\\\n\r\t"sv, Literal::kC), R"(a\"\\\n\r\t)");
  EXPECT_EQ(escape_text("\0\x1b\x7f"sv, Literal::kC), R"(\x00\x1b\x7f)");
  EXPECT_EQ(escape_text("\0\x1b\x7f\""sv, Literal::kJson), R"(\u0000\u001b\u007f\")");
  EXPECT_EQ(escape_text("\xff\xc3"sv, Literal::kC), R"(\xff\xc3)");
  EXPECT_EQ(escape_text("\xff"sv, Literal::kJson), R"(\ufffd)");
  EXPECT_EQ(escape_text("caf\xc3\xa9 \xe2\x80\xae"sv, Literal::kC), "caf\xc3\xa9 \\u202e");
}

TEST(WholeCharacters, LeaveOutOneThatIsCut) {
  EXPECT_EQ(whole_characters("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(whole_characters("caf\xc3"), "caf");
  EXPECT_EQ(whole_characters("a\xf0\x9f\x98"), "a");
  EXPECT_EQ(whole_characters("a\xf0\x9f\x98\x80"), "a\xf0\x9f\x98\x80");
  EXPECT_EQ(whole_characters("\x80\x80\x80\x80"), "\x80\x80\x80\x80");
  EXPECT_EQ(whole_characters(""), "");
}

}  // namespace
}  // namespace swipr::host
