#include "cli/commands/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace swipr::commands {
namespace {

using testing::HasSubstr;
using testing::Not;

profile::Module some_module() {
  profile::Module module;
  module.path = "/usr/lib/libx.so.1";
  module.build_id = "abcdef";
  return module;
}

TEST(ExplainModule, SaysWhereNamesComeFrom) {
  ModuleExplanation known{.addresses = 5, .named = 4, .with_lines = 3, .sources = {}, .note = {}};
  known.sources.file = "/usr/lib/libx.so.1";
  known.sources.debug_file = "/usr/lib/debug/.build-id/ab/cdef.debug";
  known.sources.dwarf = true;
  const std::string text = explain_module(some_module(), known, "libx1");
  EXPECT_THAT(text, HasSubstr("debug file /usr/lib/debug/.build-id/ab/cdef.debug\n"));
  EXPECT_THAT(text, HasSubstr("DWARF"));
  EXPECT_THAT(text, HasSubstr("5, 4 with a name, 3 with a line\n"));
  EXPECT_THAT(text, Not(HasSubstr("to do")));
}

TEST(ExplainModule, SaysWhatToInstall) {
  ModuleExplanation stripped{
      .addresses = 5, .named = 1, .with_lines = 0, .sources = {}, .note = {}};
  stripped.sources.file = "/usr/lib/libx.so.1";
  stripped.sources.dynamic_table = true;
  EXPECT_THAT(explain_module(some_module(), stripped, "libx1"), HasSubstr("install libx1-dbgsym"));
  EXPECT_THAT(explain_module(some_module(), stripped, "libc6"), HasSubstr("install libc6-dbg,"));
  EXPECT_THAT(explain_module(some_module(), stripped, ""), HasSubstr("ab/cdef.debug"));
}

TEST(ExplainModule, SaysWhatIsWrongWithAFile) {
  const ModuleExplanation missing{
      .addresses = 1, .named = 0, .with_lines = 0, .sources = {}, .note = "another file"};
  const std::string text = explain_module(some_module(), missing, "");
  EXPECT_THAT(text, HasSubstr("file       not found\n"));
  EXPECT_THAT(text, HasSubstr("problem    another file\n"));
  EXPECT_THAT(text, HasSubstr("--symfs"));
}

TEST(ExplainModule, KnowsThatGeneratedCodeHasNoFile) {
  profile::Module module;
  module.path = "[anon]";
  const std::string text = explain_module(module, {}, "");
  EXPECT_THAT(text, Not(HasSubstr("not found")));
  EXPECT_THAT(text, Not(HasSubstr("to do"))) << "nothing is missing";
  ModuleExplanation nameless;
  nameless.addresses = 1;
  EXPECT_THAT(explain_module(module, nameless, ""), HasSubstr("perf-PID.map"));
}

TEST(FindPackage, ReadsTheListsOfDpkg) {
  std::string folder = testing::TempDir() + "swipr-dpkg-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/other.list") << "/.\n/usr/lib/libx.so.1.2\n/opt/usr/lib/libx.so.1\n";
  std::ofstream(folder + "/libx1:amd64.list") << "/.\n/lib/libx.so.1\n";
  EXPECT_EQ(find_package(folder, "/usr/lib/libx.so.1"), "libx1");
  EXPECT_EQ(find_package(folder, "/usr/lib/libx.so"), "");
  EXPECT_EQ(find_package(folder + "/none", "/usr/lib/libx.so.1"), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace swipr::commands
