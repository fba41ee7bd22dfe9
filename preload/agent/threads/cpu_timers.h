// CPU timers of threads that run in short bursts. In its clock interrupt the kernel checks whether
// a thread has used an interval of CPU time, and sends the sampling signal to that thread when it
// returns to its code. A sleeping thread is never interrupted, no call returns early, and samples
// are drawn from the thread's CPU time, because the control thread needs no CPU for them. Context:
// control thread. Source: kernel/time/posix-cpu-timers.c; with CONFIG_POSIX_CPU_TIMERS_TASK_WORK
// (5.10; on aarch64 later) the signal is sent by the thread itself when it leaves the kernel.
#pragma once

#include <bit>
#include <cstdint>

#include "preload/agent/base/moment.h"
#include "preload/agent/base/random.h"
#include "preload/agent/threads/signal_pool.h"
#include "preload/agent/threads/thread_list.h"
#include "preload/handler/signals/timed_threads.h"
#include "preload/handler/slots.h"

namespace swipr::agent {

class CpuTimers {
 public:
  // While the sampling signal's handler is installed. False: the kernel refuses timers; no thread
  // will have one.
  bool open() noexcept;
  // Deletes all timers. True: one of their signals is still pending where the program would get it.
  bool close(ThreadList& threads) noexcept;
  bool is_usable() const noexcept { return usable_; }

  // Gives the thread a timer that fires whenever it has used `interval` of CPU time; the first time
  // at a random point of the first interval. It gets none if it blocks the signal or a limit is
  // reached.
  void start(std::uint32_t place, Thread& thread, std::chrono::nanoseconds interval,
             SignalPool& signals, int task_directory, Moment now, std::int64_t cpu_ns) noexcept;
  // After its timer has fired: the next time is half to one and a half intervals from now, so that
  // threads whose CPU time is periodic are not sampled at one phase only.
  void draw_next(const Thread& thread) noexcept;
  void stop(Thread& thread) noexcept;
  // For good.
  void give_up(Thread& thread) noexcept;
  // The thread's timer has fired at this time of its CPU clock.
  static void note_fired(Thread& thread, std::int64_t cpu_ns) noexcept {
    thread.timer.seen_cpu_ns_ = cpu_ns;
  }
  // It may have a timer again, however often it has stopped one.
  static void forget_stops(Thread& thread) noexcept { thread.timer.stops_ = 0; }
  // The thread stops it before it blocks the signal.
  static bool runs(const Thread& thread) noexcept {
    return thread.timer.timer_ >= 0 && !handler::has_stopped_timer(thread.tid.value);
  }
  // The thread has used so much CPU time without an answer of its timer that none will come: it has
  // blocked the signal undetected, or the program has deleted the timer.
  static bool is_silent(const Thread& thread, std::int64_t cpu_ns) noexcept;

  // Calls `on_answer(place, generation's low bits, slot)` for each stack, then opens its slot
  // again.
  template <typename OnAnswer>
  void collect(OnAnswer&& on_answer) noexcept {
    if (!slots_open_) return;
    std::uint64_t taken = ~handler::shared.open.load(std::memory_order_relaxed);
    for (; taken != 0; taken &= taken - 1) {
      const auto number = static_cast<std::uint32_t>(std::countr_zero(taken));
      handler::Slot& slot = slots_[number];
      if (handler::slot_status(slot, handler::kOpenSequence) != handler::SlotStatus::kDone)
        continue;
      on_answer(handler::place_of_timer(slot.timer_value),
                handler::generation_of_timer(slot.timer_value), slot);
      open_slot(number);
    }
  }

 private:
  bool may_create(Moment now) noexcept;
  bool open_slots() noexcept;
  void open_slot(std::uint32_t number) noexcept;
  void close_slots() noexcept;
  static bool arm(std::int32_t timer, std::int64_t first_ns, std::int64_t interval_ns) noexcept;

  handler::Slot* slots_ = nullptr;
  bool slots_open_ = false;
  bool slots_untouched_ = false;  // all zero
  bool usable_ = false;
  std::uint32_t timer_count_ = 0;
  std::uint32_t allowance_ = 0;  // timers that may be made before the user's limit is read again
  Moment next_reading_{0};
  Random random_;
};

}  // namespace swipr::agent
