#include "cli/fleet/cpu_ledger.h"

#include <gtest/gtest.h>

namespace swipr::fleet {
namespace {

using namespace std::chrono_literals;

TEST(CpuLedger, ExplainsWhatHasNoStack) {
  CpuLedger ledger(100ms);
  const CpuShares shares = ledger.close_slice(
      {.kernel = 600ms, .recorded = 450ms, .swipr = 20ms, .reason = Unrecorded::kStarting});
  EXPECT_EQ(shares.swipr, 20ms);
  EXPECT_EQ(shares.other, 30ms);
  EXPECT_EQ(shares.reason, Unrecorded::kStarting);
  EXPECT_EQ(ledger.kernel(), 500ms);
}

TEST(CpuLedger, CarriesWhatIsInFlightIntoTheNextSlice) {
  CpuLedger ledger(0ms);
  const CpuShares first =
      ledger.close_slice({.kernel = 500ms, .recorded = 450ms, .in_flight = 90ms});
  EXPECT_EQ(first.sum(), 0ms);
  const CpuShares last = ledger.close_slice({.kernel = 700ms, .recorded = 640ms});
  EXPECT_EQ(last.sum(), 60ms);
  EXPECT_EQ(ledger.recorded() + ledger.unrecorded(), ledger.kernel());
}

TEST(CpuLedger, HasNoNegativeShares) {
  CpuLedger ledger(0ms);
  EXPECT_EQ(ledger.close_slice({.kernel = 10ms, .recorded = 30ms, .swipr = 5ms}).sum(), 0ms);
  EXPECT_EQ(ledger.kernel(), 30ms);  // the clock of an ended process is not known
  EXPECT_EQ(ledger.close_slice({.kernel = 20ms, .recorded = 30ms}).sum(), 0ms);
}

TEST(CpuLedger, CountsTimeOfSwiprOnce) {
  CpuLedger ledger(0ms);
  ledger.close_slice({.kernel = 100ms, .recorded = 80ms, .swipr = 20ms});
  EXPECT_EQ(ledger.close_slice({.kernel = 200ms, .recorded = 160ms, .swipr = 25ms}).swipr, 5ms);
}

TEST(CpuLedger, EachReasonHasAName) {
  EXPECT_EQ(unrecorded_name(Unrecorded::kIdle), "idle");
  EXPECT_EQ(unrecorded_name(Unrecorded::kLost), "lost");
}

}  // namespace
}  // namespace swipr::fleet
