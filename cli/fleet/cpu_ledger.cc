#include "cli/fleet/cpu_ledger.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace swipr::fleet {

using std::chrono::nanoseconds;

std::string_view unrecorded_name(Unrecorded reason) {
  constexpr std::array<std::string_view, kUnrecordedCount> kNames = {"idle",  "starting", "ended",
                                                                     "swipr", "refused",  "lost"};
  return kNames[static_cast<std::size_t>(reason)];
}

CpuShares CpuLedger::close_slice(const CpuReading& reading) {
  constexpr nanoseconds kNothing{0};
  recorded_ = std::max(recorded_, reading.now.recorded);
  // The clocks are read one after the other, and a process that has ended has none: what was
  // recorded was used.
  kernel_ = std::max({kernel_, reading.now.kernel - before_, recorded_ + unrecorded()});
  const nanoseconds open = kernel_ - recorded_ - unrecorded();
  const CpuTimes& settled = reading.settled;
  const nanoseconds lost = settled.kernel - before_ - settled.recorded - settled.swipr - other_;
  CpuShares shares;
  shares.swipr = std::clamp(reading.now.swipr - swipr_, kNothing, open);
  shares.other = std::clamp(lost, kNothing, open - shares.swipr);
  shares.reason = reading.reason;
  swipr_ += shares.swipr;
  other_ += shares.other;
  return shares;
}

}  // namespace swipr::fleet
