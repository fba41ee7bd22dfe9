// The agent's side of the slots: signals threads and collects their stacks. A thread has at most
// one signal outstanding; several recordings share its answer.
// Context: control thread.
#pragma once

#include <array>
#include <cstdint>

#include "common/core/ids.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/threads/thread_list.h"
#include "preload/handler/asking.h"
#include "preload/handler/slots.h"

namespace swipr::agent {

class SignalPool {
 public:
  // False: no memory.
  bool open(Pid process) noexcept;
  // Waits, for some milliseconds, until all signalled threads have answered.
  void await_answers() noexcept;
  // Cancels all requests and frees memory. True: signals may still be pending in some threads.
  bool close() noexcept;

  enum class Asked : std::uint8_t { kSent, kShared, kFailed, kBlocked };
  // Requests the thread's stack for recording `recording` (an index below 32). kShared: a signal is
  // already outstanding. kFailed: not possible now (the thread may block the signal for a moment),
  // no slot is free, or the kernel refused. kBlocked: the thread blocks the signal for long: its
  // run gets no stack. `task_directory`: used to read its mask if it may have changed. `not_after`:
  // kFailed if it is later, by the clock. `cpu_ns`: its CPU clock as it was last read.
  Asked ask(std::uint32_t place, Thread& thread, unsigned recording, int task_directory, Moment now,
            Moment not_after, std::int64_t cpu_ns) noexcept;
  // An answer is outstanding, or a signal whose answer is no longer needed.
  bool is_waiting() const noexcept { return active_count_ != 0 || gave_up_; }
  // An answer for this recording is outstanding.
  bool is_asked_for(unsigned recording) const noexcept;

  // False: not possible now, or the thread blocks the signal. Valid while `asking` exists.
  bool may_signal(handler::Asking& asking, Thread& thread, int task_directory, Moment now,
                  std::int64_t cpu_ns) noexcept {
    return is_calm(asking, now) && !blocks_signal(asking, thread, task_directory, cpu_ns);
  }

  // Calls `on_answer(place, generation, recordings, slot)` for each answer, then frees its slot.
  // `recordings`: one bit for each that requested it.
  template <typename OnAnswer>
  void collect(OnAnswer&& on_answer) noexcept {
    for (std::size_t at = 0; at < active_count_;) {
      const std::uint16_t number = active_[at];
      Request& request = requests_[number];
      if (handler::slot_status(slots_[number], request.sequence) != handler::SlotStatus::kDone) {
        ++at;
        continue;
      }
      on_answer(request.place, request.generation, request.recordings, slots_[number]);
      release(at);
    }
  }
  // Its answer was collected: it may be signalled again.
  static void note_answered(Thread& thread) noexcept {
    thread.signal.slot_ = ThreadSignal::kNoSlot;
  }
  // The sampling signal is another one now.
  static void forget_mask(Thread& thread) noexcept {
    distrust_mask(thread);
    thread.signal.blocked_times_ = 0;
  }
  // Its mask has changed undetected: it is read before the next signal.
  static void distrust_mask(Thread& thread) noexcept { thread.signal.mask_known_ = false; }
  // The thread has ended: frees its slot, unless a handler uses it.
  void cancel(Thread& thread) noexcept;
  // The same for one that does not answer.
  void give_up(Thread& thread) noexcept;
  // Frees the slot of a thread that has not answered although no signal is pending in it: if the
  // program has sent the same signal to the thread, the kernel keeps only one of the two. True:
  // freed.
  bool cancel_lost(Thread& thread, int task_directory) noexcept;
  void forget_recording(unsigned recording) noexcept;

 private:
  struct Request {
    std::uint64_t sequence = 0;
    std::uint32_t place = 0;
    std::uint32_t generation = 0;
    std::uint32_t recordings = 0;
  };

  static bool blocks_for_long(Thread& thread, std::int64_t cpu_ns) noexcept;
  bool blocks_signal(const handler::Asking& asking, Thread& thread, int task_directory,
                     std::int64_t cpu_ns) noexcept;
  bool is_calm(handler::Asking& asking, Moment now) noexcept;
  void release(std::size_t active_index) noexcept;

  Pid process_{};
  handler::Slot* slots_ = nullptr;
  Moment calm_at_{};  // and its epoch: the last time that no mask was being changed
  std::uint32_t calm_epoch_ = 0;
  bool gave_up_ = false;        // a signal may still be pending in a thread that did not answer
  std::uint64_t sequence_ = 0;  // never reset: late signals must not match a new request
  std::size_t active_count_ = 0;
  std::size_t free_count_ = 0;
  std::array<std::uint16_t, handler::kSlotCount> active_{};
  std::array<std::uint16_t, handler::kSlotCount> free_{};
  std::array<Request, handler::kSlotCount> requests_{};
};

}  // namespace swipr::agent
