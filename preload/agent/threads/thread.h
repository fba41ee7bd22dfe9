// A thread of the process, as all recordings share it. Each part has one owner, the only one that
// writes it. Context: control thread.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

#include "common/core/ids.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/runtimes/python/python_threads.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent {

// The thread's outstanding signal, and its mask as far as known.
class ThreadSignal {
 public:
  bool is_asked() const noexcept { return slot_ != kNoSlot; }
  bool mask_is_known() const noexcept { return mask_known_; }

 private:
  friend class SignalPool;
  friend struct ThreadSignalForTests;
  static constexpr std::uint16_t kNoSlot = 0xffff;

  std::uint16_t slot_ = kNoSlot;
  // Whether it blocks the sampling signal, as of an epoch of mask changes (handler/asking.h).
  bool blocks_signal_ = false;
  bool mask_known_ = false;
  std::uint16_t mask_uses_ = 0;  // since it was read
  std::uint32_t mask_epoch_ = 0;
  std::uint8_t blocked_times_ = 0;   // readings in a row, at different times of its CPU clock
  std::int64_t blocked_cpu_ns_ = 0;  // the last of these
};

// The thread's CPU timer.
class ThreadTimer {
 public:
  std::int64_t interval_ns() const noexcept { return interval_ns_; }

 private:
  friend class CpuTimers;

  std::int32_t timer_ = -1;       // the kernel's number; -1: none
  std::uint8_t stops_ = 0;        // by the thread itself
  std::int64_t interval_ns_ = 0;  // of CPU time
  std::int64_t seen_cpu_ns_ = 0;  // its CPU clock when it got the timer, or when that last fired
};

// Callee-saved registers, as the handler found them while the thread was blocked at `place`: with
// them the next check at the same place needs no signal.
struct KeptRegisters {
  static constexpr auto& kNumbers = unwind::kKeptRegisters;
  WaitPlace place;  // kBlocked: the registers are valid for it
  std::uint64_t values[std::size(kNumbers)] = {};
};

// One wait of a thread whose location the kernel does not show (no `syscall` file). A signal that
// swipr's handler answers adds one voluntary switch, and the wait continues.
struct HiddenWait {
  enum class Asked : std::uint8_t { kNo, kYes, kFoundWaiting };
  std::uint64_t switches = 0;  // of the thread, while it is in this wait
  std::uint32_t number = 0;    // number of waits observed; 0: none yet
  Asked asked = Asked::kNo;    // in this wait, and the result of the answer
  Moment ask_until{};          // it gets no signal later
  bool takes_signals = true;  // false: a signal interrupted a call of this thread; no more are sent
};

// Results of the last checks of the thread. Owner: Sampler.
struct ThreadLooks {
  std::uint8_t late_count = 0;       // signals in a row that were not answered in time
  std::uint8_t name_looks_left = 3;  // threads set their names shortly after they start
  bool was_on_cpu = false;           // when it was last signalled
  std::int64_t muted_until_ns = 0;   // CLOCK_MONOTONIC: does not answer, is not signalled
  std::int64_t asleep_cpu_ns = -1;   // its CPU clock when it was last found asleep; -1: never
  WaitPlace signalled_place;         // where it was blocked when it got its outstanding signal
  KeptRegisters kept;
  HiddenWait hidden;
  std::int64_t last_wait_call = -1;   // system call in which it was last found blocked; -1: none
  bool timeout_begins_again = false;  // that of its last wait; true also if its call is not shown
  WaitPlace channel_place;            // where `wait_channel` was read
  std::uint64_t channel_argument = 0;
  std::uint32_t wait_channel = 0;  // of WaitChannels
  std::uint32_t label_place = 0;   // where its labels were found last

  // It has used less CPU time since it was found asleep than a return from a system call takes.
  // Where a signal would begin a timeout again, that is nearly the longest return:
  // docs/design/29-no-early-return.md.
  bool may_be_waking(std::int64_t clock_ns) const noexcept {
    constexpr std::int64_t kWayOutNs = 20'000;
    constexpr std::int64_t kLongWayOutNs = 100'000;
    const std::int64_t way_out_ns = timeout_begins_again ? kLongWayOutNs : kWayOutNs;
    return asleep_cpu_ns >= 0 && clock_ns - asleep_cpu_ns < way_out_ns;
  }
};

// The thread's state in the language runtime of the process.
class ThreadRuntime {
 public:
  // Their addresses, as they were found last. Check them before use.
  const runtimes::PythonThreadStates& states() const noexcept { return states_; }

 private:
  friend class LanguageFrames;

  runtimes::PythonThreadStates states_;
  std::uint64_t java_thread_ = 0;        // the address of its JavaThread, as it was found last
  std::uint8_t fruitless_searches_ = 0;  // in a row, up to a bound
  std::uint8_t searches_to_skip_ = 0;
};

struct alignas(64) Thread {
  // Owner: ThreadList.
  Tid tid{};                     // 0: place is free
  std::uint32_t generation = 0;  // counts the threads at this place
  std::uint32_t listing = 0;     // last listing that contained it
  std::uint32_t name_version = 0;
  char name[16] = {};

  ThreadSignal signal;
  ThreadTimer timer;
  ThreadLooks looks;
  ThreadRuntime runtime;

  std::string_view name_text() const noexcept {
    return {name, std::char_traits<char>::length(name)};
  }
};

}  // namespace swipr::agent
