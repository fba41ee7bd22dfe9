#include "symbolize/text/swift_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/symbolize/fixture.h"

namespace swipr::symbolize::test {
namespace {

using testing::ElementsAre;

// A folder at the front of PATH that contains a program called swift-demangle.
class SwiftNamesTest : public testing::Test {
 protected:
  void install(const std::string& script) {
    std::filesystem::create_directories(folder_.path("bin"));
    const std::string program = folder_.path("bin/swift-demangle");
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    ::setenv("PATH", (folder_.path("bin") + ":" + path_).c_str(), 1);
  }
  ~SwiftNamesTest() override { ::setenv("PATH", path_.c_str(), 1); }

  const std::vector<std::string_view> names_ = {"$s4main3fooyyF", "$s4main3baryyF"};

 private:
  TemporaryFolder folder_;
  const std::string path_ = ::getenv("PATH");
};

TEST_F(SwiftNamesTest, AsksTheInstalledProgramOnceForAll) {
  install(R"(sed 's/\$s4main3\(...\)yyF/main.\1() -> ()/')");
  const auto readable = demangle_swift(names_);
  ASSERT_TRUE(readable);
  EXPECT_THAT(*readable, ElementsAre("main.foo() -> ()", "main.bar() -> ()"));
}

TEST_F(SwiftNamesTest, HasNoneFromAProgramThatFails) {
  install("cat; exit 3");
  EXPECT_FALSE(demangle_swift(names_));
  install("head -n 1");
  EXPECT_FALSE(demangle_swift(names_)) << "one line is missing";
}

TEST(SwiftNames, AreTold) {
  for (const char* name :
       {"$s4main3fooyyF", "$S4main3fooyyF", "_$s4main3fooyyF", "_T04main3fooyyF"})
    EXPECT_TRUE(is_swift_name(name)) << name;
  for (const char* name : {"main", "_ZN4main3fooEv", "$x", "_Tfoo"})
    EXPECT_FALSE(is_swift_name(name)) << name;
}

}  // namespace
}  // namespace swipr::symbolize::test
