#include "preload/agent/threads/signal_pool.h"

#include <sys/mman.h>

#include <algorithm>

#include "preload/agent/base/clock.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/handler/runtime_slots.h"
#include "preload/handler/signal_handler.h"
#include "preload/handler/signals/disposition.h"
#include "preload/handler/signals/signal_waits.h"

namespace swipr::agent {

namespace {
constexpr std::size_t kSlotsBytes = round_to_pages(handler::kSlotCount * sizeof(handler::Slot));
// Handlers, and threads that are being created, block all signals for a short time.
constexpr std::uint8_t kMaskReadings = 8;
}  // namespace

bool SignalPool::open(Pid process) noexcept {
  process_ = process;
  if (slots_ != nullptr) return true;
  // Slots of zeroed memory are idle. Never unmapped: a handler may be about to use it.
  slots_ = static_cast<handler::Slot*>(map_memory(kSlotsBytes));
  if (slots_ == nullptr) return false;
  for (std::uint16_t number = 0; number < handler::kSlotCount; ++number) {
    free_[free_count_++] = static_cast<std::uint16_t>(handler::kSlotCount - 1 - number);
  }
  handler::shared.slots.store(slots_, std::memory_order_release);
  return true;
}

void SignalPool::await_answers() noexcept {
  constexpr int kAttempts = 40;
  constexpr std::chrono::microseconds kPause{250};
  const auto all_answered = [this] {
    return std::all_of(&active_[0], &active_[active_count_], [this](std::uint16_t number) {
      return handler::slot_status(slots_[number], requests_[number].sequence) ==
             handler::SlotStatus::kDone;
    });
  };
  for (int attempt = 0; attempt < kAttempts && !all_answered(); ++attempt) {
    sleep_for(kPause);
  }
}

bool SignalPool::close() noexcept {
  bool pending = gave_up_;
  gave_up_ = false;
  for (std::size_t at = 0; at < active_count_;) {
    const std::uint16_t number = active_[at];
    requests_[number].recordings = 0;
    if (handler::try_cancel_slot(slots_[number], requests_[number].sequence)) pending = true;
    if (handler::slot_status(slots_[number], requests_[number].sequence) ==
        handler::SlotStatus::kClaimed) {
      ++at;  // a later open or collect frees it
    } else {
      release(at);
    }
  }
  if (active_count_ == 0 && slots_ != nullptr) ::madvise(slots_, kSlotsBytes, MADV_DONTNEED);
  return pending || active_count_ != 0;
}

SignalPool::Asked SignalPool::ask(std::uint32_t place, Thread& thread, unsigned recording,
                                  int task_directory, Moment now, Moment not_after,
                                  std::int64_t cpu_ns) noexcept {
  if (thread.signal.slot_ != ThreadSignal::kNoSlot) {
    requests_[thread.signal.slot_].recordings |= 1u << recording;
    return Asked::kShared;
  }
  if (free_count_ == 0) return Asked::kFailed;
  handler::Asking asking(thread.tid.value);
  if (!is_calm(asking, now)) return Asked::kFailed;
  if (blocks_signal(asking, thread, task_directory, cpu_ns)) {
    const bool for_long = thread.signal.mask_known_ && thread.signal.blocks_signal_;
    return for_long ? Asked::kBlocked : Asked::kFailed;
  }
  const std::uint16_t number = free_[free_count_ - 1];
  const std::uint64_t sequence = ++sequence_;
  if (handler::RuntimeSlot* runtime = handler::runtime_slot_of(slots_[number])) {
    runtime->states = thread.runtime.states();
  }
  handler::set_target(number, thread.tid);
  handler::arm_slot(slots_[number], sequence);
  const bool in_time = monotonic_now() <= not_after;
  if (!in_time || !handler::send_signal(process_, thread.tid, {sequence, number})) {
    handler::try_cancel_slot(slots_[number], sequence);
    return Asked::kFailed;
  }
  --free_count_;
  active_[active_count_++] = number;
  requests_[number] = {sequence, place, thread.generation, 1u << recording};
  thread.signal.slot_ = number;
  return Asked::kSent;
}

bool SignalPool::is_calm(handler::Asking& asking, Moment now) noexcept {
  constexpr std::chrono::seconds kLongestChange{1};
  const std::uint32_t epoch = asking.mask_epoch();
  const bool calm = asking.is_calm();
  if (calm || epoch != calm_epoch_) {
    calm_at_ = now;
    calm_epoch_ = epoch;
  } else if (now - calm_at_ > kLongestChange) {
    asking.forget_changes();
  }
  return calm;
}

// Changes of a thread's mask by libc's functions are counted. Other changes (a longjmp, a raw
// system call) are detected when the mask is read again. True also if the mask is unknown at this
// time.
bool SignalPool::blocks_signal(const handler::Asking& asking, Thread& thread, int task_directory,
                               std::int64_t cpu_ns) noexcept {
  if (handler::is_in_signal_wait(thread.tid.value)) return true;
  const std::uint16_t asks_per_reading = thread.signal.blocks_signal_ ? 100 : 1000;
  const std::uint32_t epoch = asking.mask_epoch();
  if (thread.signal.mask_known_ && thread.signal.mask_epoch_ == epoch &&
      ++thread.signal.mask_uses_ != asks_per_reading) {
    return thread.signal.blocks_signal_;
  }
  char text[512];
  const handler::MaskReading reading(thread.tid.value);
  const std::uint64_t blocked =
      parse_blocked_signals(read_task_file(task_directory, thread.tid, "stat", text));
  if (!reading.is_valid()) {
    thread.signal.mask_known_ = false;
    return true;
  }
  thread.signal.blocks_signal_ = (blocked >> (handler::installed_signal() - 1) & 1) != 0;
  if (!thread.signal.blocks_signal_) thread.signal.blocked_times_ = 0;
  thread.signal.mask_known_ = !thread.signal.blocks_signal_ || blocks_for_long(thread, cpu_ns);
  thread.signal.mask_epoch_ = epoch;
  thread.signal.mask_uses_ = 0;
  return thread.signal.blocks_signal_;
}

// As many readings in a row at different times of its own: it may have to wait for a CPU in the
// middle of a moment, where many readings see the same one.
bool SignalPool::blocks_for_long(Thread& thread, std::int64_t cpu_ns) noexcept {
  constexpr std::int64_t kBetween = 1'000'000 / kMaskReadings;
  ThreadSignal& signal = thread.signal;
  if (signal.blocked_times_ == kMaskReadings) return true;
  if (signal.blocked_times_ != 0 && cpu_ns - signal.blocked_cpu_ns_ < kBetween) return false;
  signal.blocked_cpu_ns_ = cpu_ns;
  return ++signal.blocked_times_ == kMaskReadings;
}

void SignalPool::cancel(Thread& thread) noexcept {
  if (thread.signal.slot_ == ThreadSignal::kNoSlot) return;
  const std::uint16_t number = thread.signal.slot_;
  thread.signal.slot_ = ThreadSignal::kNoSlot;
  requests_[number].recordings = 0;
  if (!handler::try_cancel_slot(slots_[number], requests_[number].sequence)) return;
  for (std::size_t at = 0; at < active_count_; ++at) {
    if (active_[at] == number) return release(at);
  }
}

void SignalPool::give_up(Thread& thread) noexcept {
  gave_up_ = gave_up_ || thread.signal.slot_ != ThreadSignal::kNoSlot;
  distrust_mask(thread);
  cancel(thread);
}

bool SignalPool::cancel_lost(Thread& thread, int task_directory) noexcept {
  if (thread.signal.slot_ == ThreadSignal::kNoSlot) return false;
  char text[512];
  const std::string_view stat = read_task_file(task_directory, thread.tid, "stat", text);
  if (stat.empty() || (parse_pending_signals(stat) >> (handler::installed_signal() - 1) & 1) != 0) {
    return false;
  }
  const std::uint64_t sequence = requests_[thread.signal.slot_].sequence;
  if (handler::slot_status(slots_[thread.signal.slot_], sequence) != handler::SlotStatus::kArmed)
    return false;
  cancel(thread);
  return true;
}

bool SignalPool::is_asked_for(unsigned recording) const noexcept {
  return std::any_of(&active_[0], &active_[active_count_], [this, recording](std::uint16_t number) {
    return (requests_[number].recordings & 1u << recording) != 0;
  });
}

void SignalPool::forget_recording(unsigned recording) noexcept {
  for (std::size_t at = 0; at < active_count_; ++at) {
    requests_[active_[at]].recordings &= ~(1u << recording);
  }
}

void SignalPool::release(std::size_t active_index) noexcept {
  const std::uint16_t number = active_[active_index];
  handler::free_slot(slots_[number], requests_[number].sequence);
  active_[active_index] = active_[--active_count_];
  free_[free_count_++] = number;
}

}  // namespace swipr::agent
