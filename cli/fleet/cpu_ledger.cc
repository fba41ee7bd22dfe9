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

void CpuLedger::note_kernel(nanoseconds time, nanoseconds kernel) {
  charged_.push_back({time, std::max(kernel_, kernel - before_)});
}

// As far as it is known: by the last reading before.
nanoseconds CpuLedger::charged_until(nanoseconds time) {
  while (charged_.size() > 1 && charged_[1].time <= time) charged_.pop_front();
  return charged_.empty() || charged_.front().time > time ? nanoseconds(0)
                                                          : charged_.front().kernel;
}

CpuShares CpuLedger::close_slice(const CpuReading& reading) {
  constexpr nanoseconds kNothing{0};
  recorded_ = std::max(recorded_, reading.recorded);
  // The clocks are read one after the other, and a process that has ended has none: what was
  // recorded was used.
  kernel_ = std::max({kernel_, reading.kernel - before_, recorded_ + unrecorded()});
  note_kernel(reading.time, reading.kernel);
  const nanoseconds final = charged_until(reading.time - reading.delay);
  const nanoseconds due = std::max(final - recorded_ - unrecorded(), kNothing);
  CpuShares shares;
  shares.swipr = std::clamp(reading.swipr - swipr_, kNothing, due);
  shares.other = due - shares.swipr;
  shares.reason = reading.reason;
  swipr_ += shares.swipr;
  other_ += shares.other;
  return shares;
}

}  // namespace swipr::fleet
