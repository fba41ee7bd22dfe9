#include "preload/agent/threads/cpu_timers.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/proc/thread_clock.h"
#include "preload/handler/signals/disposition.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kSlotsBytes = round_to_pages(handler::kOpenSlotCount * sizeof(handler::Slot));
// A thread that changes its mask all the time would get its timer again at every tick.
constexpr std::uint8_t kMaxStops = 4;

// Older kernels send the signal from the interrupt, even to a thread that is about to sleep.
// Source: CONFIG_HAVE_POSIX_CPU_TIMERS_TASK_WORK; on aarch64 5.10 lacks it, and 6.1 has it.
constexpr unsigned long kFirstMajor = unwind::kElfMachine == 62 ? 5 : 6;  // EM_X86_64
constexpr unsigned long kFirstMinor = unwind::kElfMachine == 62 ? 10 : 1;
bool kernel_sends_at_return() noexcept {
  utsname name{};
  if (::uname(&name) != 0) return false;
  char* end = nullptr;
  const unsigned long major = std::strtoul(name.release, &end, 10);
  const unsigned long minor = *end == '.' ? std::strtoul(end + 1, nullptr, 10) : 0;
  return major > kFirstMajor || (major == kFirstMajor && minor >= kFirstMinor);
}

timespec to_timespec(std::int64_t ns) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {ns / kSecond, ns % kSecond};
}

// −1: errno says why.
int create_timer(Tid tid, std::uint64_t value) noexcept {
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(tid.value)) << 3 | 6u);
  sigevent event;
  std::memset(&event, 0, sizeof(event));
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = handler::installed_signal();
  event._sigev_un._tid = tid.value;
  event.sigev_value.sival_ptr = reinterpret_cast<void*>(value);
  int timer = -1;
  return ::syscall(SYS_timer_create, clock, &event, &timer) == 0 ? timer : -1;
}

void delete_timer(int timer) noexcept { ::syscall(SYS_timer_delete, timer); }

// In this process: a seccomp filter may refuse it.
bool kernel_creates_timers() noexcept {
  const int timer = create_timer(Tid{static_cast<std::int32_t>(::syscall(SYS_gettid))}, 0);
  if (timer >= 0) delete_timer(timer);
  return timer >= 0;
}

bool waits_for_delivery(int task_directory, Tid tid) noexcept {
  char text[512];
  const std::uint64_t pending =
      parse_pending_signals(read_task_file(task_directory, tid, "stat", text));
  return (pending >> (handler::installed_signal() - 1) & 1) != 0;
}

}  // namespace

bool CpuTimers::open() noexcept {
  usable_ = kernel_sends_at_return() && kernel_creates_timers();
  random_ = Random(random_seed());
  return usable_;
}

bool CpuTimers::close(ThreadList& threads) noexcept {
  bool pending = false;
  for (std::uint32_t place = 0; place < threads.place_count() && timer_count_ != 0; ++place) {
    Thread& thread = threads[place];
    if (thread.timer.timer_ < 0) continue;
    stop(thread);
    // Before 6.13 deleting the timer does not discard it.
    pending = pending || waits_for_delivery(threads.directory(), thread.tid);
  }
  close_slots();
  usable_ = false;
  allowance_ = 0;
  return pending;
}

bool CpuTimers::open_slots() noexcept {
  if (slots_open_) return true;
  if (slots_ == nullptr) {
    slots_ = static_cast<handler::Slot*>(map_memory(kSlotsBytes));
    if (slots_ == nullptr) return false;
    handler::shared.open_slots.store(slots_, std::memory_order_release);
    slots_untouched_ = true;
  }
  slots_open_ = true;
  // Each slot is a page of its own, which should not be touched before a handler uses it.
  if (slots_untouched_) {
    static_assert(handler::kOpenSlotCount == 64, "a bit each");
    slots_untouched_ = false;
    handler::shared.open.store(~std::uint64_t{0}, std::memory_order_release);
    return true;
  }
  for (std::uint32_t number = 0; number < handler::kOpenSlotCount; ++number) {
    // A slot that a handler claimed before the last recording ended is opened again when its answer
    // is collected.
    if (handler::slot_status(slots_[number], handler::kOpenSequence) !=
        handler::SlotStatus::kClaimed) {
      open_slot(number);
    }
  }
  return true;
}

void CpuTimers::open_slot(std::uint32_t number) noexcept {
  handler::free_slot(slots_[number], handler::kOpenSequence);
  handler::shared.open.fetch_or(std::uint64_t{1} << number, std::memory_order_release);
}

void CpuTimers::close_slots() noexcept {
  if (!slots_open_) return;
  slots_open_ = false;
  // A handler that has cleared a slot's bit may not have marked the slot as claimed yet.
  bool idle = true;
  for (std::uint64_t taken = ~handler::shared.open.exchange(0); taken != 0; taken &= taken - 1) {
    idle = idle && handler::slot_status(slots_[std::countr_zero(taken)], handler::kOpenSequence) ==
                       handler::SlotStatus::kDone;
  }
  slots_untouched_ = idle && ::madvise(slots_, kSlotsBytes, MADV_DONTNEED) == 0;
}

// A timer always counts as a pending signal, and all processes of a user share the limit: if it is
// reached, a program gets EAGAIN. Many processes may be recorded at once: each uses an eighth of
// what is left of a quarter, then reads the limit again.
bool CpuTimers::may_create(Moment now) noexcept {
  constexpr std::uint64_t kShare = 4;
  constexpr std::uint64_t kStep = 8;
  constexpr std::chrono::seconds kPause{1};
  if (timer_count_ == handler::kTimedThreadCount) return false;
  if (allowance_ == 0 && now >= next_reading_) {
    char text[4096];
    const SignalQueue queue = parse_signal_queue(read_file_at(-1, "/proc/self/status", text));
    const std::uint64_t share = queue.limit / kShare;
    const std::uint64_t room = queue.used < share ? share - queue.used : 0;
    allowance_ = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(room / kStep, handler::kTimedThreadCount));
    if (allowance_ == 0) next_reading_ = now + kPause;
  }
  return allowance_ != 0;
}

void CpuTimers::start(std::uint32_t place, Thread& thread, std::chrono::nanoseconds interval,
                      SignalPool& signals, int task_directory, Moment now,
                      std::int64_t cpu_ns) noexcept {
  if (!usable_ || runs(thread) || thread.timer.stops_ >= kMaxStops) return;
  const bool was_stopped = thread.timer.timer_ >= 0;
  if (!was_stopped && !may_create(now)) return;
  if (!open_slots()) return;
  handler::Asking asking(thread.tid.value);
  if (!signals.may_signal(asking, thread, task_directory, now, cpu_ns)) return;
  if (was_stopped) ++thread.timer.stops_;
  stop(thread);
  const int timer = create_timer(
      thread.tid, handler::pack_timer_value(place, static_cast<std::uint16_t>(thread.generation)));
  if (timer < 0) {
    ++thread.timer.stops_;  // refused: a few more attempts, not one at each tick
    return;
  }
  const bool entered = handler::enter_timed_thread(thread.tid.value, timer);
  // At a random time within the first interval: a thread that uses only a hundredth of an interval
  // is sampled in one of a hundred cases.
  const std::int64_t first_ns = 1 + random_.below(interval.count());
  if (!entered || !arm(timer, first_ns, interval.count())) {
    if (entered) handler::leave_timed_thread(thread.tid.value);
    return delete_timer(timer);
  }
  thread.timer.timer_ = timer;
  thread.timer.interval_ns_ = interval.count();
  thread.timer.seen_cpu_ns_ = cpu_ns;
  ++timer_count_;
  if (!was_stopped) --allowance_;
}

bool CpuTimers::arm(std::int32_t timer, std::int64_t first_ns, std::int64_t interval_ns) noexcept {
  itimerspec times{};
  times.it_interval = to_timespec(interval_ns);
  times.it_value = to_timespec(first_ns);
  return ::syscall(SYS_timer_settime, timer, 0, &times, nullptr) == 0;
}

void CpuTimers::draw_next(const Thread& thread) noexcept {
  if (thread.timer.timer_ < 0) return;
  const std::int64_t interval_ns = thread.timer.interval_ns_;
  arm(thread.timer.timer_, interval_ns / 2 + 1 + random_.below(interval_ns), interval_ns);
}

void CpuTimers::stop(Thread& thread) noexcept {
  if (thread.timer.timer_ < 0) return;
  delete_timer(thread.timer.timer_);
  handler::leave_timed_thread(thread.tid.value);
  thread.timer.timer_ = -1;
  --timer_count_;
}

void CpuTimers::give_up(Thread& thread) noexcept {
  stop(thread);
  thread.timer.stops_ = kMaxStops;
  SignalPool::distrust_mask(thread);
}

bool CpuTimers::is_silent(const Thread& thread, std::int64_t cpu_ns) noexcept {
  constexpr std::int64_t kIntervals = 8;
  constexpr std::int64_t kClockInterrupts = 100'000'000;  // 25 of them at 250 Hz
  return cpu_ns - thread.timer.seen_cpu_ns_ >
         kIntervals * thread.timer.interval_ns_ + kClockInterrupts;
}

}  // namespace swipr::agent
