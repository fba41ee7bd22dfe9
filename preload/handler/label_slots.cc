#include "preload/handler/label_slots.h"

#include "preload/labels/thread_context.h"
#include "preload/labels/thread_labels.h"

namespace swipr::handler {

constinit std::atomic<labels::LabelSet*> label_slots{nullptr};

namespace {

labels::LabelSet* place_of(const Slot& slot) noexcept {
  labels::LabelSet* const sets = label_slots.load(std::memory_order_acquire);
  if (sets == nullptr) [[likely]]
    return nullptr;
  const std::uint32_t number = slot_number(slot);
  return number == kNoSlotNumber ? nullptr : sets + number;
}

}  // namespace

void take_labels(const Slot& slot) noexcept {
  labels::LabelSet* const place = place_of(slot);
  if (place == nullptr) return;
  labels::copy_own_labels(*place);
  labels::add_own_context(*place);
}

const labels::LabelSet* labels_of(const Slot& slot) noexcept { return place_of(slot); }

}  // namespace swipr::handler
