#include "cli/live/call_history.h"

#include <gtest/gtest.h>

namespace swipr::live {
namespace {

TEST(CallHistory, ForgetsWhatIsOlder) {
  CallHistory history({});
  for (std::uint32_t second = 0; second <= CallHistory::kSeconds + 5; ++second) {
    history.add({second, 0, second, 1});
  }
  EXPECT_EQ(history.first_row(), 5u);
  EXPECT_EQ(history.row(5).bucket, 5u);
  EXPECT_EQ(history.end_row(), CallHistory::kSeconds + 6);
}

TEST(CallHistory, HasABoundForRows) {
  CallHistory history({});
  for (std::uint32_t row = 0; row < CallHistory::kMaxRows + 10; ++row) history.add({0, 0, row, 1});
  EXPECT_EQ(history.end_row() - history.first_row(), CallHistory::kMaxRows);
  EXPECT_EQ(history.row(history.first_row()).bucket, 10u);
}

TEST(CallHistory, CountsChangesOfFunctions) {
  CallHistory history({{"f", false, ""}, {"g", false, ""}});
  const std::uint64_t before = history.changes();
  history.set_traced(1, true, "");
  history.set_traced(1, true, "");
  EXPECT_EQ(history.changes(), before + 1);
  EXPECT_TRUE(history.functions()[1].is_traced);
  history.set_traced(1, false, "its library was unloaded");
  EXPECT_EQ(history.changes(), before + 2);
  EXPECT_EQ(history.functions()[1].reason, "its library was unloaded");
}

}  // namespace
}  // namespace swipr::live
