#include "preload/agent/base/text/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace swipr::agent {
namespace {

TEST(AgentGlob, MatchesLiterally) {
  EXPECT_TRUE(matches_glob("nginx", "nginx"));
  EXPECT_FALSE(matches_glob("nginx", "nginx2"));
  EXPECT_FALSE(matches_glob("nginx", "ngin"));
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(AgentGlob, StarMatchesAnyRun) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("python*", "python3.11"));
  EXPECT_TRUE(matches_glob("*server", "redis-server"));
  EXPECT_TRUE(matches_glob("a*b*c", "axbxbxc"));
  EXPECT_FALSE(matches_glob("a*b*c", "axbxbx"));
}

TEST(AgentGlob, QuestionMarkMatchesExactlyOne) {
  EXPECT_TRUE(matches_glob("python?", "python3"));
  EXPECT_FALSE(matches_glob("python?", "python"));
}

TEST(AgentGlob, ManyStarsStayCheap) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  EXPECT_FALSE(matches_glob(pattern + "b", std::string(5000, 'a')));
}

TEST(AgentGlob, AnyOfTheListIsEnough) {
  EXPECT_TRUE(matches_any_glob("nginx,redis-*", "redis-server"));
  EXPECT_TRUE(matches_any_glob("nginx , redis-*", "nginx"));
  EXPECT_FALSE(matches_any_glob("nginx,redis-*", "python3"));
  EXPECT_FALSE(matches_any_glob(",,", ""));
}

}  // namespace
}  // namespace swipr::agent
