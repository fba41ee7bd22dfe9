#include "cli/commands/install/unit_text.h"

#include <gtest/gtest.h>

#include <string>

namespace swipr::commands {
namespace {

TEST(PreloadAfter, TakesTheLastSettingOfTheServiceSection) {
  EXPECT_EQ(preload_after("", ""), "");
  EXPECT_EQ(preload_after("", "a.so"), "a.so");
  EXPECT_EQ(preload_after("[Service]\nEnvironment=LD_PRELOAD=a.so X=1\n", ""), "a.so");
  EXPECT_EQ(preload_after("[Service]\n Environment = X=1 LD_PRELOAD=a.so\n"
                          "Environment=LD_PRELOAD=b.so",
                          "c.so"),
            "b.so");
  EXPECT_EQ(preload_after("[Unit]\nEnvironment=LD_PRELOAD=a.so\n", ""), "");
  EXPECT_EQ(preload_after("[Service]\n#Environment=LD_PRELOAD=a.so\nEnvironmentFile=x\n", ""), "");
  EXPECT_EQ(preload_after("[Service]\nEnvironment=NO_LD_PRELOAD=a.so\n", ""), "");
}

TEST(PreloadAfter, AnEmptySettingRemovesAllOthers) {
  EXPECT_EQ(preload_after("[Service]\nEnvironment=\n", "a.so"), "");
  EXPECT_EQ(preload_after("[Service]\nEnvironment=LD_PRELOAD=\n", "a.so"), "");
}

TEST(PreloadAfter, KnowsQuotesAndContinuedLines) {
  EXPECT_EQ(preload_after("[Service]\nEnvironment=\"LD_PRELOAD=a.so b.so\" 'X=1'\n", ""),
            "a.so b.so");
  EXPECT_EQ(preload_after("[Service]\nEnvironment='LD_PRELOAD=a\"b.so'\n", ""), "a\"b.so");
  EXPECT_EQ(preload_after("[Service]\nEnvironment=X=1 \\\n  LD_PRELOAD=a.so\n", ""), "a.so");
  EXPECT_EQ(preload_after("[Service]\nEnvironment=LD_PRELOAD=a\\ b.so\n", ""), "a b.so");
  for (const char* text :
       {"[Service]\nEnvironment=\"LD_PRELOAD=a.so", "[Service]\nEnvironment=\\"}) {
    EXPECT_TRUE(preload_after(text, "").size() <= 4) << text;
  }
}

TEST(JoinedPreload, HasEachLibraryOnce) {
  EXPECT_EQ(joined_preload("", "/usr/lib/libswipr_preload.so"), "/usr/lib/libswipr_preload.so");
  EXPECT_EQ(joined_preload("a.so b.so", "/l.so"), "a.so b.so:/l.so");
  EXPECT_EQ(joined_preload("a.so:/old/l.so", "/l.so"), "a.so:/old/l.so");
  EXPECT_EQ(joined_preload("libl.so", "/l.so"), "libl.so:/l.so");
}

TEST(ServiceDropIn, IsReadBackAsItWasWritten) {
  for (const std::string libraries : {"/l.so", "a.so b.so:/l.so", "a\"b\\c.so"}) {
    const std::string text = service_drop_in(libraries);
    EXPECT_TRUE(is_ours(text));
    EXPECT_EQ(preload_after(text, "other.so"), libraries);
  }
  EXPECT_FALSE(is_ours("[Service]\nEnvironment=LD_PRELOAD=/l.so\n"));
}

TEST(IsServiceName, HasNoFolder) {
  EXPECT_TRUE(is_service_name("nginx.service"));
  EXPECT_TRUE(is_service_name("worker@3.service"));
  EXPECT_TRUE(is_service_name("dev-disk\\x2d1.service"));
  for (const char* name : {"", "a/b", "../x", ".hidden", "a b", "a\n"}) {
    EXPECT_FALSE(is_service_name(name)) << name;
  }
  EXPECT_FALSE(is_service_name(std::string(300, 'a')));
}

}  // namespace
}  // namespace swipr::commands
