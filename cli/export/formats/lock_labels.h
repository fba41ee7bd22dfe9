// What a waiting sample is told to wait for, as labels. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "cli/profile/tables/lock_holders.h"

namespace swipr::exporters {

class LockLabels {
 public:
  // Lifetime: of the arguments.
  LockLabels(const profile::Recording& recording, const profile::Names& names);

  struct Labels {
    std::string lock;   // "mutex journal_lock", "rwlock 0x7f12a4501140", "GIL"; empty: for no lock
    std::string owner;  // "worker-3 4711"; empty: not known
  };
  // Of a thread of this process that is blocked in this stack.
  Labels of(std::uint32_t process, std::uint32_t stack) const;

 private:
  const profile::Recording& recording_;
  const profile::Names& names_;
  std::map<profile::Place, std::string> threads_;
};

}  // namespace swipr::exporters
