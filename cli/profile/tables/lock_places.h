// Which locks of the C library waits are for: one with its name or address, or how many.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct Locks {
  std::size_t count = 0;  // different ones; 0: not known
  bool has_more = false;  // there were others, which were not recorded
  // Of a single one.
  std::string address{};   // "0x7f12a4501140"
  std::string variable{};  // "journal_lock"; empty: not known
};

// "mutex 0x7f12a4501140 in f", "mutex in f", "12 mutexes in f", "12 mutexes or more in f".
// `kind`: "mutex" or "rwlock". `site`: empty: not known.
std::string lock_text(std::string_view kind, const Locks& locks, std::string_view site);

// The locks of a group of waits.
class LockPlaces {
 public:
  void add(std::uint32_t process, const Stack& stack);
  Locks locks(const Names& names) const;

 private:
  std::set<std::pair<std::uint32_t, std::uint64_t>> places_;  // process and address
  bool has_more_ = false;
};

}  // namespace swipr::profile
