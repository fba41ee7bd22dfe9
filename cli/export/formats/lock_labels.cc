#include "cli/export/formats/lock_labels.h"

#include "cli/profile/tables/lock_places.h"
#include "cli/profile/tables/lock_waits.h"
#include "common/host/text/clean_text.h"

namespace swipr::exporters {

LockLabels::LockLabels(const profile::Recording& recording, const profile::Names& names)
    : recording_(recording), names_(names), threads_(profile::names_of_threads(recording)) {}

LockLabels::Labels LockLabels::of(std::uint32_t process, std::uint32_t stack) const {
  const auto wait = profile::find_lock_wait(recording_, names_, stack);
  if (!wait) return {};
  Labels labels{.lock = wait->lock, .owner = {}};
  if (!wait->kind.empty()) {
    profile::LockPlaces place;
    place.add(process, recording_.stacks[stack]);
    labels.lock = profile::lock_text(wait->kind, place.locks(names_), {});
  }
  const auto owner = threads_.find({process, wait->holder});
  if (wait->holder.value != 0 && owner != threads_.end()) labels.owner = owner->second;
  return {host::clean_text(labels.lock), host::clean_text(labels.owner)};
}

}  // namespace swipr::exporters
