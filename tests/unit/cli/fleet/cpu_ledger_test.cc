#include "cli/fleet/cpu_ledger.h"

#include <gtest/gtest.h>

namespace swipr::fleet {
namespace {

using namespace std::chrono_literals;

CpuReading settled(const CpuTimes& now, Unrecorded reason = Unrecorded::kLost) {
  return {.now = now, .settled = now, .reason = reason};
}

TEST(CpuLedger, ExplainsWhatHasNoStack) {
  CpuLedger ledger(100ms);
  const CpuShares shares = ledger.close_slice(
      settled({.kernel = 600ms, .recorded = 450ms, .swipr = 20ms}, Unrecorded::kStarting));
  EXPECT_EQ(shares.swipr, 20ms);
  EXPECT_EQ(shares.other, 30ms);
  EXPECT_EQ(shares.reason, Unrecorded::kStarting);
  EXPECT_EQ(ledger.kernel(), 500ms);
}

TEST(CpuLedger, WaitsForSamplesOfAnOpenRecording) {
  CpuLedger ledger(0ms);
  const CpuTimes begin{.kernel = 40ms};
  const CpuShares first =
      ledger.close_slice({.now = {.kernel = 500ms, .swipr = 3ms}, .settled = begin});
  EXPECT_EQ(first.swipr, 3ms);
  EXPECT_EQ(first.other, 40ms);  // used before the recording began
  const CpuTimes later{.kernel = 900ms, .recorded = 700ms, .swipr = 5ms};
  EXPECT_EQ(ledger.close_slice({.now = later, .settled = begin}).sum(), 2ms);
  EXPECT_EQ(ledger.close_slice(settled(later)).sum(), 900ms - 700ms - 5ms - 40ms);
  EXPECT_EQ(ledger.recorded() + ledger.unrecorded(), ledger.kernel());
  EXPECT_EQ(ledger.kernel(), 900ms);
}

TEST(CpuLedger, HasNoNegativeShares) {
  CpuLedger ledger(0ms);
  EXPECT_EQ(ledger.close_slice(settled({.kernel = 10ms, .recorded = 30ms, .swipr = 5ms})).sum(),
            0ms);
  EXPECT_EQ(ledger.kernel(), 30ms);  // the clock of an ended process is not known
  EXPECT_EQ(ledger.close_slice(settled({.kernel = 20ms, .recorded = 30ms})).sum(), 0ms);
}

TEST(CpuLedger, CountsTimeOfSwiprOnce) {
  CpuLedger ledger(0ms);
  ledger.close_slice(settled({.kernel = 100ms, .recorded = 80ms, .swipr = 20ms}));
  EXPECT_EQ(ledger.close_slice(settled({.kernel = 200ms, .recorded = 160ms, .swipr = 25ms})).swipr,
            5ms);
}

TEST(CpuLedger, EachReasonHasAName) {
  EXPECT_EQ(unrecorded_name(Unrecorded::kIdle), "idle");
  EXPECT_EQ(unrecorded_name(Unrecorded::kLost), "lost");
}

}  // namespace
}  // namespace swipr::fleet
