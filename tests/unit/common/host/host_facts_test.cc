#include "common/host/host_facts.h"

#include <gtest/gtest.h>

namespace swipr::host {
namespace {

TEST(FindReleaseValue, ReadsQuotedAndPlainValues) {
  constexpr std::string_view kText =
      "PRETTY_NAME=\"Debian 12\"\nNAME=\"Debian\"\nVERSION_ID='12'\nID=x";
  EXPECT_EQ(find_release_value(kText, "NAME"), "Debian");
  EXPECT_EQ(find_release_value(kText, "VERSION_ID"), "12");
  EXPECT_EQ(find_release_value(kText, "ID"), "x");
  EXPECT_EQ(find_release_value(kText, "VERSION"), "");
  EXPECT_EQ(find_release_value("", "NAME"), "");
}

TEST(ReadHostFacts, AreNeverEmpty) {
  const HostFacts facts = read_host_facts();
  for (const std::string& text : {facts.hostname, facts.system_name, facts.os_name,
                                  facts.kernel_release, facts.libc_version}) {
    EXPECT_FALSE(text.empty());
  }
  EXPECT_GT(facts.processors, 0u);
  EXPECT_GT(facts.memory_capacity_mb, 0u);
}

}  // namespace
}  // namespace swipr::host
