#include "preload/runtimes/function_text.h"

#include <gtest/gtest.h>

namespace swipr::runtimes {
namespace {

TEST(BoundedText, IsUtf8) {
  BoundedText<64> text;
  for (const char32_t c : U"aé名😀\x7f\x80\x7ff\x800\xffff\x10000") {
    if (c != 0) text.append(static_cast<std::uint32_t>(c));
  }
  EXPECT_EQ(text.view(), "aé名😀\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80");
}

TEST(BoundedText, ReplacesWhatIsNoCharacter) {
  BoundedText<64> text;
  for (const std::uint32_t c : {0xd800u, 0xdfffu, 0x110000u, 0xffffffffu}) text.append(c);
  EXPECT_EQ(text.view(), "\ufffd\ufffd\ufffd\ufffd");
}

TEST(BoundedText, IsCutAtACharacter) {
  BoundedText<8> text;
  for (const std::uint32_t c : {0x61u, 0x62u, 0x63u, 0xe9u, 0x540du, 0x61u}) text.append(c);
  EXPECT_EQ(text.view(), "abcé…");
  text.clear();
  EXPECT_EQ(text.view(), "");
  text.append('x');
  text.cut();
  text.cut();
  EXPECT_EQ(text.view(), "x…");
}

}  // namespace
}  // namespace swipr::runtimes
