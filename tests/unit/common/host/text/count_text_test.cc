#include "common/host/text/count_text.h"

#include <gtest/gtest.h>

namespace swipr::host {
namespace {

TEST(CountText, GroupsDigitsByThree) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
}

TEST(CountText, UsesTheSingularForOneOnly) {
  EXPECT_EQ(counted(0, "thread"), "0 threads");
  EXPECT_EQ(counted(1, "thread"), "1 thread");
  EXPECT_EQ(counted(1000, "thread"), "1,000 threads");
}

}  // namespace
}  // namespace swipr::host
