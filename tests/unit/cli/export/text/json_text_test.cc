#include "cli/export/text/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace swipr::exporters {
namespace {

TEST(JsonString, IsReadBackAsItWas) {
  const std::string text = "a\"b\\c/d <e> & 日本 </script>";
  EXPECT_EQ(nlohmann::json::parse(json_string(text)).get<std::string>(), text);
}

TEST(JsonString, CannotEndAScriptElement) {
  EXPECT_EQ(json_string("</script><!--").find('<'), std::string::npos);
}

TEST(JsonString, ReplacesWhatJsonForbids) { EXPECT_EQ(json_string("a\nb\x01\xFF"), "\"a b ?\""); }

TEST(JsonString, ShowsWhatWouldChangeTheOrderOfReading) {
  EXPECT_EQ(nlohmann::json::parse(json_string("a\xE2\x80\xAE")).get<std::string>(), "a\\u202e");
}

TEST(JsonIndex, IsNullForNone) {
  EXPECT_EQ(json_index(0xFFFFFFFFu), "null");
  EXPECT_EQ(json_index(7), "7");
}

}  // namespace
}  // namespace swipr::exporters
