// Labels of threads that answered, beside the slots of their stacks. Memory exists only in
// processes in which threads have labels.
#pragma once

#include <atomic>
#include <cstddef>

#include "common/core/signal_safe.h"
#include "preload/handler/slots.h"
#include "preload/labels/label.h"

namespace swipr::handler {

inline constexpr std::size_t kLabelSlotsBytes =
    (kSlotCount + kOpenSlotCount) * sizeof(labels::LabelSet);

// kSlotCount + kOpenSlotCount, in the order of slot_number; nullptr: no thread has labels. Never
// unmapped once set.
extern std::atomic<labels::LabelSet*> label_slots;

// The handler's side: keeps the calling thread's labels.
SWIPR_SIGNAL_SAFE void take_labels(const Slot& slot) noexcept;
// The agent's side. nullptr: there are none.
const labels::LabelSet* labels_of(const Slot& slot) noexcept;

}  // namespace swipr::handler
