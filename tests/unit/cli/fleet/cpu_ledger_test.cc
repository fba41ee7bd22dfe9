#include "cli/fleet/cpu_ledger.h"

#include <gtest/gtest.h>

namespace swipr::fleet {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(CpuLedger, ExplainsWhatHasNoStack) {
  CpuLedger ledger(100ms);
  const CpuShares shares = ledger.close_slice(
      {.kernel = 600ms, .recorded = 450ms, .swipr = 20ms, .reason = Unrecorded::kStarting});
  EXPECT_EQ(shares.swipr, 20ms);
  EXPECT_EQ(shares.other, 30ms);
  EXPECT_EQ(shares.reason, Unrecorded::kStarting);
  EXPECT_EQ(ledger.kernel(), 500ms);
}

TEST(CpuLedger, WaitsForWhatSamplesMayStillBring) {
  CpuLedger ledger(100ms);
  const auto close = [&ledger](nanoseconds time, nanoseconds kernel, nanoseconds recorded) {
    return ledger
        .close_slice({.kernel = kernel, .recorded = recorded, .time = time, .delay = 1500ms})
        .sum();
  };
  EXPECT_EQ(close(10s, 600ms, 0ms), 0ms);
  EXPECT_EQ(close(11s, 1100ms, 50ms), 0ms);
  EXPECT_EQ(close(12s, 1600ms, 470ms), 30ms);  // of what was used up to the 10th second
  EXPECT_EQ(close(13s, 2100ms, 1500ms), 0ms);
  EXPECT_EQ(ledger.close_slice({.kernel = 2100ms, .recorded = 1500ms, .time = 14s}).sum(), 470ms);
  EXPECT_EQ(ledger.recorded() + ledger.unrecorded(), 2000ms);
}

TEST(CpuLedger, KnowsWhatWasUsedBeforeARecordingBegan) {
  CpuLedger ledger(0ms);
  ledger.note_kernel(3s, 40ms);
  const CpuReading reading{.kernel = 900ms,
                           .recorded = 700ms,
                           .time = 10s,
                           .delay = 5s,
                           .reason = Unrecorded::kStarting};
  EXPECT_EQ(ledger.close_slice(reading).sum(), 0ms);  // samples of other time explain it so far
  CpuLedger other(0ms);
  other.note_kernel(3s, 40ms);
  EXPECT_EQ(other.close_slice({.kernel = 900ms, .time = 10s, .delay = 5s}).sum(), 40ms);
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
