// Deadlocks of a process that is followed, for its page.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "cli/profile/tables/lock_cycles.h"

namespace swipr::commands {

class LiveDeadlocks {
 public:
  static constexpr std::size_t kMost = 10;  // that pages are told

  // Samples as they come. They refer to `recording`, of which there is one for each stream.
  void add(const profile::Recording& recording, std::span<const profile::Sample> samples) {
    waits_.add(recording, samples);
  }
  void begin_stream() { waits_ = {}; }

  // Those at present, as an array of JSON: [{"text":"…","waited_ns":…},…].
  std::string describe(const profile::Recording& recording, const profile::Names& names) const;

 private:
  profile::LastWaits waits_;
};

}  // namespace swipr::commands
