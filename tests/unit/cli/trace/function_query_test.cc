#include "cli/trace/function_query.h"

#include <gtest/gtest.h>

namespace swipr::tracing {
namespace {

using QueryKind = FunctionQuery::Kind;

FunctionQuery query_of(std::string_view text) {
  const auto query = parse_function_query(text);
  EXPECT_TRUE(query) << text;
  return query ? *query : FunctionQuery();
}

TEST(FunctionQuery, IsANameUnlessItLooksLikeAnotherKind) {
  for (const char* name : {"handle", "shop::buy", "shop::buy(int)", "ns::f(a::b)", "operator new",
                           "std::map<int, char>::at", "main.cc", "x0"}) {
    EXPECT_EQ(query_of(name).kind, QueryKind::kName) << name;
    EXPECT_EQ(query_of(name).name, name);
    EXPECT_EQ(query_of(name).module, "");
  }
  EXPECT_EQ(query_of("a::b!=c").module, "a::b");  // no name has an exclamation mark
}

TEST(FunctionQuery, KnowsLinesAndAddresses) {
  EXPECT_EQ(query_of("src/main.cc:1312").kind, QueryKind::kLine);
  EXPECT_EQ(query_of("src/main.cc:1312").name, "src/main.cc");
  EXPECT_EQ(query_of("src/main.cc:1312").line, 1312u);
  EXPECT_EQ(query_of("0x7f12a4501139").kind, QueryKind::kAddress);
  EXPECT_EQ(query_of("0x7f12a4501139").address, 0x7f12a4501139u);
  const FunctionQuery in_file = query_of("libc.so.6!0x1139");
  EXPECT_EQ(in_file.module, "libc.so.6");
  EXPECT_EQ(in_file.address, 0x1139u);
}

TEST(FunctionQuery, RefusesWhatIsNone) {
  for (const char* text :
       {"", "libc!", "0x", "0xg", "0x11112222333344445", "a.cc:0", "a.cc:99999999999"}) {
    EXPECT_FALSE(parse_function_query(text)) << text;
  }
}

TEST(FunctionQuery, PatternsMatchAsInTheShell) {
  EXPECT_TRUE(matches_pattern("handle*", "handle"));
  EXPECT_TRUE(matches_pattern("h?nd*_r*", "handle_request"));
  EXPECT_TRUE(matches_pattern("*::[a-c]uy", "shop::buy"));
  EXPECT_TRUE(matches_pattern("**", ""));
  EXPECT_FALSE(matches_pattern("[ac]uy", "buy"));
  EXPECT_FALSE(matches_pattern("handle*x", "handle"));
  EXPECT_FALSE(matches_pattern("", "a"));
  EXPECT_FALSE(matches_pattern("a", ""));
  EXPECT_TRUE(matches_pattern("operator[]", "operator[]"));
  // Without an exponential search.
  EXPECT_FALSE(matches_pattern("*a*a*a*a*a*a*a*a*a*a*a*b", std::string(10'000, 'a')));
}

TEST(FunctionQuery, ModulesAreNamedByFileOrLibrary) {
  for (const char* text : {"libc!f", "libc.so.6!f", "libc*!f", "/lib/libc.so.6!f", "f"}) {
    EXPECT_TRUE(matches_module(query_of(text), "/lib/libc.so.6")) << text;
  }
  EXPECT_FALSE(matches_module(query_of("lib!f"), "/lib/libc.so.6"));
  EXPECT_TRUE(matches_module(query_of("server!f"), "/srv/server"));
}

TEST(FunctionQuery, NamesFitWithAndWithoutParametersAndNamespaces) {
  const auto fit = [](std::string_view text, std::string_view linkage, std::string_view readable) {
    return fit_name(query_of(text), linkage, readable);
  };
  for (const char* text : {"_ZN4shop3buyEi", "shop::buy", "shop::buy(int)"}) {
    EXPECT_EQ(fit(text, "_ZN4shop3buyEi", "shop::buy(int)"), Fit::kWhole) << text;
  }
  for (const char* text : {"buy", "buy(int)"}) {
    EXPECT_EQ(fit(text, "_ZN4shop3buyEi", "shop::buy(int)"), Fit::kLastPart) << text;
  }
  EXPECT_EQ(fit("uy", "_ZN4shop3buyEi", "shop::buy(int)"), Fit::kNone);
  EXPECT_EQ(fit("shop", "_ZN4shop3buyEi", "shop::buy(int)"), Fit::kNone);
  EXPECT_EQ(fit("shop::buy(char)", "_ZN4shop3buyEi", "shop::buy(int)"), Fit::kNone);
  EXPECT_EQ(fit("*buy", "_ZN4shop3buyEi", "shop::buy(int)"), Fit::kWhole);
  EXPECT_EQ(fit("list::at", "x", "int list<int>::at<char>(int) const"), Fit::kWhole);
  EXPECT_EQ(fit("vec<int>::at", "x", "vec<int>::at(int) const"), Fit::kWhole);
  EXPECT_EQ(fit("vec::at", "x", "vec<int>::at(int) const"), Fit::kWhole);
}

TEST(FunctionQuery, CopiesFitAndPartsDoNot) {
  const FunctionQuery query = query_of("handle");
  EXPECT_EQ(fit_name(query, "handle.constprop.0", ""), Fit::kCopy);
  EXPECT_EQ(fit_name(query, "handle.isra.0", ""), Fit::kCopy);
  EXPECT_EQ(fit_name(query, "handle.cold", ""), Fit::kNone);
  EXPECT_EQ(fit_name(query, "handle.part.0", ""), Fit::kNone);
  EXPECT_EQ(fit_name(query, "handle.constprop.0.cold", ""), Fit::kNone);
  EXPECT_EQ(fit_name(query_of("handle.part.0"), "handle.part.0", ""), Fit::kWhole);
}

TEST(FunctionQuery, TheLongestWordIsInTheMangledName) {
  EXPECT_EQ(longest_word(query_of("shop::purchase(int)")), "purchase");
  EXPECT_EQ(longest_word(query_of("*_request*")), "_request");
  for (const char* text : {"std::string::append", "operator new", "vec<int>::at", "[ab]*"}) {
    EXPECT_EQ(longest_word(query_of(text)), "") << text;
  }
}

}  // namespace
}  // namespace swipr::tracing
