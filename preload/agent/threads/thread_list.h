// The threads of the process as of the last look at /proc/self/task, each at a place that stays its
// own as long as it lives. The control thread is not among them.
// Context: control thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "common/core/ids.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent {

inline constexpr std::uint16_t kNoSlot = 0xffff;

// Registers that a function must keep for its caller, as the handler found them while the thread
// was blocked at `place`: with them the next look at the same place needs no signal.
struct KeptRegisters {
  // As DWARF numbers (System V AMD64 ABI, 3.2.1).
  static constexpr unsigned kNumbers[6] = {unwind::kRbx, unwind::kRbp, 12, 13, 14, 15};
  WaitPlace place;  // kBlocked: the registers are valid for it
  std::uint64_t values[6] = {};
};

// One wait of a thread whose place the kernel does not show (no `syscall` file). A signal that
// swipr's handler answers adds one voluntary switch, and the wait goes on.
struct HiddenWait {
  enum class Asked : std::uint8_t { kNo, kYes, kFoundWaiting };
  std::uint64_t switches = 0;  // of the thread, while it is in this wait
  std::uint32_t number = 0;    // counts the waits that were seen; 0: none yet
  Asked asked = Asked::kNo;    // in this wait, and what the answer told
  bool barred = false;         // a signal ended a call of this thread: no more of them
};

struct alignas(64) Thread {
  Tid tid{};                     // 0: place is free
  std::uint32_t generation = 0;  // counts the threads at this place
  std::uint32_t listing = 0;     // last listing that had it
  std::uint32_t name_version = 0;
  char name[16] = {};
  std::uint16_t slot = kNoSlot;  // outstanding signal
  std::uint8_t late_count = 0;   // signals in a row that were not answered in time
  // Threads name themselves shortly after they are born: the first ticks look again.
  std::uint8_t name_looks_left = 3;
  // Whether it blocks the sampling signal, as of an epoch of mask changes (handler/asking.h).
  bool blocks_signal = false;
  bool mask_known = false;
  std::uint8_t blocked_readings = 0;
  std::uint16_t mask_uses = 0;
  std::uint32_t mask_epoch = 0;
  std::int64_t blocked_since_cpu_ns = 0;  // its CPU clock at the first of blocked_readings
  bool was_on_cpu = false;                // when it was asked for its stack
  std::uint8_t timer_stops = 0;           // of its CPU timer, by the thread itself
  bool runs_in_bursts = false;            // it has run and waited again
  std::uint8_t busy_looks = 0;            // in a row, while it runs in bursts
  std::int32_t cpu_timer = -1;            // the kernel's number; -1: none
  std::int64_t timer_interval_ns = 0;
  std::int64_t timer_seen_cpu_ns = 0;  // its CPU clock when it got the timer or that was heard of
  std::int64_t muted_until_ns = 0;     // CLOCK_MONOTONIC: does not answer, is not signalled
  std::int64_t asleep_cpu_ns = -1;     // its CPU clock when it was last seen asleep; -1: never
  WaitPlace signalled_place;           // where it was blocked when it got its outstanding signal
  KeptRegisters kept;
  HiddenWait hidden;
  std::int64_t last_wait_call = -1;  // system call in which it was last seen blocked; -1: none
  WaitPlace channel_place;           // where `wait_channel` was read
  std::uint64_t channel_argument = 0;
  std::uint32_t wait_channel = 0;  // of WaitChannels

  // Its clock is near where it was seen asleep: nearer than the longest way out of a system call.
  bool may_be_waking(std::int64_t clock_ns) const noexcept {
    constexpr std::int64_t kWayOutNs = 20'000;
    return asleep_cpu_ns >= 0 && clock_ns - asleep_cpu_ns < kWayOutNs;
  }

  std::string_view name_text() const noexcept {
    return {name, std::char_traits<char>::length(name)};
  }
};

class ThreadList {
 public:
  // False: no /proc/self/task.
  bool open(Tid control_thread) noexcept;
  // Gives memory and descriptor back.
  void close() noexcept;
  int directory() const noexcept { return directory_; }

  // Cheap: false when the number of threads is certainly the same as at the last listing. One that
  // ended while another was born shows as a thread whose clock cannot be read.
  bool count_changed() noexcept;
  // Lists all. Calls `on_gone(place)` for each thread that ended, while its entry still stands; its
  // place is given to no thread before the next refresh. False: no memory, some threads are
  // missing.
  template <typename OnGone>
  bool refresh(OnGone&& on_gone) noexcept {
    if (!list()) return false;
    bool any_gone = false;
    for (std::uint32_t place = 0; place < threads_.size(); ++place) {
      if (threads_[place].tid.value == 0 || threads_[place].listing == listing_) continue;
      on_gone(place);
      any_gone = true;
    }
    return settle(any_gone);
  }
  // Reads the thread's name again; true: it has changed.
  bool refresh_name(std::uint32_t place) noexcept;

  // Places run from 0 to place_count(); free ones have tid 0.
  std::uint32_t place_count() const noexcept { return static_cast<std::uint32_t>(threads_.size()); }
  std::uint32_t live_count() const noexcept { return live_count_; }
  Thread& operator[](std::uint32_t place) noexcept { return threads_[place]; }

 private:
  bool list() noexcept;
  bool settle(bool any_gone) noexcept;
  bool add(Tid tid) noexcept;
  bool rebuild_index() noexcept;
  std::uint32_t& index_entry(Tid tid) noexcept;

  int directory_ = -1;
  Tid control_thread_{};
  std::uint32_t listing_ = 0;
  std::uint32_t live_count_ = 0;
  std::uint64_t links_at_listing_ = 0;
  bool links_tell_count_ = false;
  MappedArray<Thread> threads_;
  MappedArray<std::uint32_t> free_places_;
  MappedArray<Tid> new_tids_;
  MappedArray<std::uint32_t> index_;  // open addressing, place + 1, power of two
};

}  // namespace swipr::agent
