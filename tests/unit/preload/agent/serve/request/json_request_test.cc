#include "preload/agent/serve/request/json_request.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace swipr::agent {
namespace {

// Fields as "kind:text"; nullopt: refused.
std::optional<std::map<std::string, std::string>> read(std::string text) {
  constexpr const char* kKinds[] = {"string:", "number:", "bool:", "null:", "composite:"};
  JsonObjectReader reader(text);
  std::map<std::string, std::string> fields;
  JsonField field;
  while (reader.next(field)) {
    fields[std::string(field.name)] =
        kKinds[static_cast<int>(field.kind)] + std::string(field.text);
  }
  if (reader.failed()) return std::nullopt;
  return fields;
}

using Fields = std::map<std::string, std::string>;

TEST(AgentJsonRequest, ReadsEveryKind) {
  EXPECT_EQ(read(R"( {"a":"x" , "b":-1.5e3,"c":true,"d":null,"e":[{"f":"]"}],"g":{}} )"),
            (Fields{{"a", "string:x"},
                    {"b", "number:-1.5e3"},
                    {"c", "bool:true"},
                    {"d", "null:null"},
                    {"e", "composite:"},
                    {"g", "composite:"}}));
  EXPECT_EQ(read("{}"), Fields{});
}

TEST(AgentJsonRequest, DecodesEscapes) {
  EXPECT_EQ(read(R"({"a":"\"\\\/\b\f\n\r\tA\u00e9\u20ac\ud83d\udc1d."})"),
            (Fields{{"a", "string:\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x9d."}}));
}

TEST(AgentJsonRequest, RefusesWhatIsNoObject) {
  for (const char* text : {"",
                           "[]",
                           "1",
                           "{",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{,}",
                           "{\"a\":1 \"b\":2}",
                           "{\"a\":1}}",
                           "{\"a\":01}",
                           "{\"a\":+1}",
                           "{\"a\":1.}",
                           "{\"a\":nul}",
                           "{\"a\":\"x}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12\"}",
                           "{\"a\":\"\\ud800\"}",
                           "{\"a\":\"\\udc00\"}",
                           "{\"a\":[}",
                           "{\"a\":[1}",
                           "{a:1}"}) {
    EXPECT_EQ(read(text), std::nullopt) << text;
  }
}

TEST(AgentJsonRequest, BoundsTheDepthOfSkippedValues) {
  const auto nested = [](int depth) {
    return "{\"a\":" + std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']') + "}";
  };
  EXPECT_TRUE(read(nested(32)).has_value());
  EXPECT_FALSE(read(nested(33)).has_value());
}

}  // namespace
}  // namespace swipr::agent
